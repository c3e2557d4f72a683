/*
 * search/groups_template.h - lists of groups and of candidates, for instruction levels that cannot
 * pack lanes to the left. Whoever includes this sets FN(name).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Apart from the loops that test groups, since a store to a place that hangs on a test's outcome
 * holds up the loads behind it. */
static int32_t drop_empty(const mvf_groups *groups, int32_t n)
{
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
        uint32_t at = groups->at[i], mask = groups->mask[i];
        groups->at[left] = at;
        groups->mask[left] = mask;
        left += mask != 0;
    }
    return left;
}

static int32_t append_column(const uint32_t *masks, int32_t ny, int32_t x, const mvf_groups *groups,
                             int32_t n)
{
    for (int32_t y = 0; y < ny; y++) {
        groups->at[n] = (uint32_t)y << 16 | (uint32_t)x;
        groups->mask[n] = masks[y];
        n += masks[y] != 0;
    }
    return n;
}

static int32_t FN(list_groups)(const mvf_groups *groups, int32_t *next, int32_t n, uint32_t *at)
{
    int32_t count = 0, i = *next;
    for (; i < n && count < MVF_LIST_SOFT; i++)
        for (uint32_t mask = groups->mask[i]; mask; mask &= mask - 1)
            at[count++] = groups->at[i] + (uint32_t)__builtin_ctz(mask);
    *next = i;
    return count;
}
