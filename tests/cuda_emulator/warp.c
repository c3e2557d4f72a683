/* SPDX-License-Identifier: BSD-2-Clause */
#include "block.h"

#define LANES EMULATED_LANES_OF_WARP

/* The lanes that have come to do the same together. */
typedef struct party {
    emulated_thread *lanes[LANES];
    uint32_t present;
} party;

/* The value of another lane. What comes of a lane that takes no part is left to chance. */
static uint64_t value_of(const party *p, int lane)
{
    if (p->present >> lane & 1)
        return p->lanes[lane]->value;
    return (uint64_t)emulated_random() << 32 | emulated_random();
}

static uint64_t shuffle(const party *p, const emulated_thread *thread, int lane)
{
    int first = lane & ~(thread->width - 1), last = first + thread->width - 1;
    int from = lane;
    if (thread->what == EMULATED_SHUFFLE)
        from = first + (thread->operand & (thread->width - 1));
    else if (thread->what == EMULATED_SHUFFLE_UP && lane - thread->operand >= first)
        from = lane - thread->operand;
    else if (thread->what == EMULATED_SHUFFLE_DOWN && lane + thread->operand <= last)
        from = lane + thread->operand;
    else if (thread->what == EMULATED_SHUFFLE_XOR && (lane ^ thread->operand) <= last)
        from = lane ^ thread->operand;
    return value_of(p, from);
}

static uint64_t combine(emulated_together what, uint64_t a, uint64_t b)
{
    switch (what) {
    case EMULATED_MIN_SIGNED:
        return (int32_t)a < (int32_t)b ? a : b;
    case EMULATED_MAX_SIGNED:
        return (int32_t)a > (int32_t)b ? a : b;
    case EMULATED_MIN_UNSIGNED:
        return (uint32_t)a < (uint32_t)b ? a : b;
    case EMULATED_MAX_UNSIGNED:
        return (uint32_t)a > (uint32_t)b ? a : b;
    case EMULATED_ADD:
        return a + b;
    case EMULATED_AND:
    case EMULATED_ALL:
        return a & b;
    case EMULATED_XOR:
        return a ^ b;
    default:
        return a | b;
    }
}

/* Of the values of all lanes. */
static uint64_t reduce(const party *p, emulated_together what)
{
    int lane = __builtin_ctz(p->present);
    uint64_t result = p->lanes[lane]->value;
    while (++lane < LANES)
        if (p->present >> lane & 1)
            result = combine(what, result, p->lanes[lane]->value);
    return result;
}

static uint32_t lanes_with(const party *p, uint64_t value)
{
    uint32_t lanes = 0;
    for (int lane = 0; lane < LANES; lane++)
        if (p->present >> lane & 1 && p->lanes[lane]->value == value)
            lanes |= 1u << lane;
    return lanes;
}

static void answer_shuffle(const party *p)
{
    for (int lane = 0; lane < LANES; lane++)
        if (p->present >> lane & 1)
            p->lanes[lane]->result = shuffle(p, p->lanes[lane], lane);
}

static void answer_match(const party *p, emulated_together what)
{
    for (int lane = 0; lane < LANES; lane++)
        if (p->present >> lane & 1) {
            uint32_t equal = lanes_with(p, p->lanes[lane]->value);
            p->lanes[lane]->result = what == EMULATED_MATCH_ANY || equal == p->present ? equal : 0;
        }
}

static void answer_all(const party *p, uint64_t result)
{
    for (int lane = 0; lane < LANES; lane++)
        if (p->present >> lane & 1)
            p->lanes[lane]->result = result;
}

static void answer(const party *p, emulated_together what)
{
    if (what >= EMULATED_SHUFFLE && what <= EMULATED_SHUFFLE_XOR)
        answer_shuffle(p);
    else if (what == EMULATED_MATCH_ANY || what == EMULATED_MATCH_ALL)
        answer_match(p, what);
    else if (what == EMULATED_BALLOT)
        answer_all(p, lanes_with(p, 1));
    else if (what != EMULATED_SYNC_WARP)
        answer_all(p, reduce(p, what));
}

/* The lanes of a thread's mask that wait to do the same, itself among them; 0 while some are still
 * to come. Lanes that have ended, or never were, are not waited for. */
static int gather(party *p, const emulated_thread *thread)
{
    int first = thread->number & ~(LANES - 1);
    const emulated_warp *warp = emulated_warp_of(thread);
    uint32_t itself = 1u << (thread->number & (LANES - 1)), wanted = thread->mask & warp->alive;
    if (wanted & ~warp->waiting & ~itself)
        return 0;
    for (uint32_t left = wanted; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        emulated_thread *other = emulated_thread_at(first + lane);
        if (other->what != thread->what || other->mask != thread->mask)
            return 0;
        p->lanes[lane] = other;
    }
    p->present = wanted;
    return 1;
}

/* In random order, except the one that runs. */
static void release(const party *p)
{
    emulated_warp *warp = emulated_warp_of(p->lanes[__builtin_ctz(p->present)]);
    uint32_t left = p->present & warp->waiting;
    const emulated_thread *any = p->lanes[__builtin_ctz(p->present)];
    warp->n_meetings += p->present == warp->alive;
    warp->n_syncs += any->what == EMULATED_SYNC_WARP && p->present == warp->alive;
    int lane = (int)emulated_random_below(LANES), stride = (int)emulated_random() | 1;
    warp->waiting &= ~left;
    for (; left; lane = (lane + stride) & (LANES - 1))
        if (left >> lane & 1) {
            left &= ~(1u << lane);
            emulated_make_ready(p->lanes[lane]);
        }
}

uint64_t emulated_sync_warp(emulated_together what, uint32_t mask, uint64_t value, int operand,
                            int width)
{
    emulated_thread *thread = emulated_current;
    int lane = thread->number & (LANES - 1);
    party p;
    if (!(mask >> lane & 1))
        emulated_fail("lane %d is not in the mask %08x of what it does with its warp", lane, mask);
    thread->what = what;
    thread->mask = mask;
    thread->value = value;
    thread->operand = operand;
    thread->width = width;
    if (gather(&p, thread)) {
        answer(&p, what);
        release(&p);
        emulated_may_switch();
    } else {
        emulated_warp_of(thread)->waiting |= 1u << lane;
        emulated_suspend(THREAD_IN_WARP);
    }
    return thread->result;
}

void emulated_leave_warp(const emulated_thread *thread)
{
    int first = thread->number & ~(LANES - 1);
    emulated_warp *warp = emulated_warp_of(thread);
    party p;
    warp->alive &= ~(1u << (thread->number & (LANES - 1)));
    for (uint32_t left = warp->waiting; left; left &= warp->waiting) {
        const emulated_thread *other = emulated_thread_at(first + __builtin_ctz(left));
        left &= left - 1;
        if (gather(&p, other)) {
            answer(&p, other->what);
            release(&p);
        }
    }
}
