/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "search/assemble.h"
#include "search/engine.h"
#include "search/merge.h"
#include "search/path_smooth.h"

#define REASON_BYTES 512
#define NO_SLOT SIZE_MAX
/* Threads that finish the fields of an engine without threads of its own. At 1080p one makes some
 * 30,000 fields of 16x16 blocks a second, and the engine may search more. */
#define MOST_FINISHERS 4

/* The first error of something that was tried. */
typedef struct heard_reason {
    char text[REASON_BYTES];
} heard_reason;

/* A prepared plane, kept while jobs use it and, for the next pair, afterwards. */
typedef struct plane_slot {
    mvf_engine_plane *plane;
    int64_t frame;
    int32_t n_users;
    uint64_t last_use;
} plane_slot;

/* One submission: its field, and one job for each reference. */
typedef struct submission {
    mvf_field *field;
    size_t n_references;
    size_t n_collected;
    /* None with method truemotion, which writes the field's blocks itself. */
    mvf_match *matches;
    /* Where the engine may take them. */
    mvf_vector *medians;
    /* Copies of the caller's guides. */
    mvf_vector *predictors, *hints;
    int32_t n_hints;
    mvf_engine_job jobs[MVF_MAX_REFERENCES];
    /* The planes of the current picture and of the references. */
    size_t slots[1 + MVF_MAX_REFERENCES];
    /* Of the references: before or after the current picture. */
    int8_t dirs[MVF_MAX_REFERENCES];
    /* What becomes of it once its jobs are collected. */
    struct mvf_searcher *searcher;
    mvf_pool_job finish;
    mvf_status status;
} submission;

struct mvf_searcher {
    mvf_options options;
    uint16_t *mv_bits;
    mvf_search_config config;
    const mvf_engine_ops *ops;
    mvf_engine *engine;
    /* With backend auto: why the CUDA engine could not be opened. */
    heard_reason reason;
    int flushing;
    /* What every call returns once the engine is lost and none could take its place. */
    mvf_status lost;
    uint64_t clock;
    plane_slot *slots;
    size_t n_slots;
    /* A ring of max_in_flight submissions. */
    submission *ring;
    size_t first, count;
    /* How many of them, from the first on, are finished, here or by the threads of `finishers`,
     * which begin with the first field that they can finish, or the first picture that they can
     * help to load. */
    size_t n_finishing;
    mvf_pool *finishers;
};

static mvf_status copy_options(mvf_options *to, const mvf_options *from)
{
    mvf_options_init(to);
    if (from->struct_size < sizeof from->struct_size || from->struct_size > 1 << 16)
        return mvf_fail(NULL, MVF_ERROR_ARGUMENT, "options were not filled by mvf_options_init()");
    size_t n_bytes = from->struct_size < sizeof *to ? from->struct_size : sizeof *to;
    memcpy(to, from, n_bytes);
    to->struct_size = sizeof *to;
    return MVF_OK;
}

static void hear_reason(void *opaque, mvf_log_level level, const char *message)
{
    heard_reason *reason = opaque;
    if (level == MVF_LOG_ERROR && !reason->text[0])
        snprintf(reason->text, sizeof reason->text, "%s", message);
}

/* Hears the CUDA engine under backend auto: its first error while it opens is the reason for going
 * on without it; later ones are warnings, since the CPU takes over. */
static void hear_cuda(void *opaque, mvf_log_level level, const char *message)
{
    mvf_searcher *s = opaque;
    if (s->engine)
        mvf_log(&s->options.logger, level == MVF_LOG_ERROR ? MVF_LOG_WARNING : level, "%s",
                message);
    else
        hear_reason(&s->reason, level, message);
}

static mvf_status open_cpu(mvf_searcher *s)
{
    s->ops = s->config.method == MVF_METHOD_TRUEMOTION ? &mvf_engine_truemotion : &mvf_engine_cpu;
    return s->ops->open(&s->engine, &s->config, &s->options);
}

/* Opens the engine that the backend option asks for. */
static mvf_status open_engine(mvf_searcher *s)
{
    s->ops = &mvf_engine_cuda;
    if (s->options.backend == MVF_BACKEND_CUDA)
        return s->ops->open(&s->engine, &s->config, &s->options);
    if (s->options.backend == MVF_BACKEND_AUTO) {
        mvf_options options = s->options;
        options.logger = (mvf_logger){hear_cuda, s};
        if (s->ops->open(&s->engine, &s->config, &options) == MVF_OK)
            return MVF_OK;
        mvf_log(&s->options.logger, MVF_LOG_INFO, "searching on the CPU: %s", s->reason.text);
    }
    return open_cpu(s);
}

/* The caller's table may go once the searcher is open. */
static mvf_status copy_mv_bits(mvf_searcher *s)
{
    if (!s->options.mv_bits)
        return MVF_OK;
    size_t n = (size_t)s->options.n_mv_bits;
    s->mv_bits = mvf_alloc_array(n, sizeof *s->mv_bits);
    if (!s->mv_bits)
        return MVF_ERROR_MEMORY;
    memcpy(s->mv_bits, s->options.mv_bits, n * sizeof *s->mv_bits);
    s->options.mv_bits = s->config.rate.table = s->mv_bits;
    return MVF_OK;
}

static mvf_status open_searcher(mvf_searcher *s, const mvf_options *options, int32_t width,
                                int32_t height, int32_t bit_depth)
{
    MVF_TRY(copy_options(&s->options, options));
    MVF_TRY(mvf_search_configure(&s->config, &s->options, width, height, bit_depth));
    MVF_TRY(copy_mv_bits(s));
    s->ring = mvf_alloc_array((size_t)s->options.max_in_flight, sizeof *s->ring);
    if (!s->ring)
        return MVF_ERROR_MEMORY;
    return open_engine(s);
}

mvf_status mvf_searcher_open(mvf_searcher **out, const mvf_options *options, int32_t width,
                             int32_t height, int32_t bit_depth)
{
    *out = NULL;
    mvf_searcher *s = mvf_alloc_array(1, sizeof *s);
    if (!s)
        return MVF_ERROR_MEMORY;
    mvf_status status = open_searcher(s, options, width, height, bit_depth);
    if (status != MVF_OK)
        mvf_searcher_close(&s);
    *out = s;
    return status;
}

static submission *nth_submission(mvf_searcher *s, size_t n)
{
    return &s->ring[(s->first + n) % (size_t)s->options.max_in_flight];
}

static void release_slots(mvf_searcher *s, submission *entry)
{
    for (size_t i = 0; i < 1 + entry->n_references; i++)
        if (entry->slots[i] != NO_SLOT)
            s->slots[entry->slots[i]].n_users--;
}

static void take_job(mvf_searcher *s, mvf_engine_job *job)
{
    if (s->ops->take)
        s->ops->take(s->engine, job);
}

/* Waits for the jobs that have not been collected, whatever becomes of them. Those that have keep
 * their answers. */
static void abandon_jobs(mvf_searcher *s, submission *entry)
{
    for (size_t i = 0; i < entry->n_references; i++)
        if (entry->jobs[i].state &&
            (i < entry->n_collected || s->ops->collect(s->engine, &entry->jobs[i], 1) == MVF_OK))
            take_job(s, &entry->jobs[i]);
}

/* Waits for what the threads are finishing. */
static void wait_for_finishers(mvf_searcher *s)
{
    for (size_t i = 0; i < s->n_finishing; i++) {
        mvf_pool_job *finishing = &nth_submission(s, i)->finish;
        if (finishing->n_tasks)
            mvf_pool_finished(s->finishers, finishing, 1);
    }
}

static void free_submission(submission *entry)
{
    mvf_field_free(&entry->field);
    mvf_free_aligned(entry->matches);
    mvf_free_aligned(entry->medians);
    free(entry->predictors);
    free(entry->hints);
    *entry = (submission){.field = NULL};
}

static void close_engine(mvf_searcher *s)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].plane)
            s->ops->plane_destroy(s->engine, s->slots[i].plane);
    if (s->engine)
        s->ops->close(s->engine);
    s->engine = NULL;
}

void mvf_searcher_close(mvf_searcher **slot)
{
    mvf_searcher *s = *slot;
    if (!s)
        return;
    wait_for_finishers(s);
    mvf_pool_close(&s->finishers);
    for (; s->count; s->count--, s->first++) {
        submission *entry = nth_submission(s, 0);
        abandon_jobs(s, entry);
        free_submission(entry);
    }
    close_engine(s);
    free(s->slots);
    free(s->ring);
    free(s->mv_bits);
    free(s);
    *slot = NULL;
}

const char *mvf_searcher_backend(const mvf_searcher *searcher)
{
    return searcher->ops->name;
}

/* Where the samples lie, and where in their words. */
static mvf_status check_place(const mvf_searcher *s, const mvf_picture *picture)
{
    const mvf_logger *logger = &s->options.logger;
    int32_t most = s->config.sample_bytes == 2 ? 16 - s->config.bit_depth : 0;
    if (picture->shift_bits < 0 || picture->shift_bits > most)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "picture: a shift of %d bits for samples of %d: must be from 0 to %d",
                        picture->shift_bits, s->config.bit_depth, most);
    if (picture->memory == MVF_MEMORY_CUDA && picture->stride_bytes < 0)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "picture: a stride of %td bytes in CUDA memory must not be negative",
                        picture->stride_bytes);
    if (picture->memory == MVF_MEMORY_HOST && picture->stream)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "picture: host memory has no stream; it must be NULL");
    return MVF_OK;
}

static mvf_status check_picture(const mvf_searcher *s, const mvf_picture *picture)
{
    ptrdiff_t row_bytes = (ptrdiff_t)s->config.width * s->config.sample_bytes;
    ptrdiff_t stride = picture->stride_bytes;
    if (picture->memory != MVF_MEMORY_HOST && picture->memory != MVF_MEMORY_CUDA)
        return mvf_fail(&s->options.logger, MVF_ERROR_ARGUMENT,
                        "picture: memory of kind %d is not one that this version knows",
                        (int)picture->memory);
    if (!picture->data || (s->config.height > 1 && stride < row_bytes && stride > -row_bytes))
        return mvf_fail(&s->options.logger, MVF_ERROR_ARGUMENT,
                        "picture: no samples, or a stride of %td bytes for rows of %td", stride,
                        row_bytes);
    if (s->config.sample_bytes == 2 && ((uintptr_t)picture->data % 2 || stride % 2))
        return mvf_fail(&s->options.logger, MVF_ERROR_ARGUMENT,
                        "picture: samples of two bytes need an even address and stride");
    return check_place(s, picture);
}

static mvf_status add_slot(mvf_searcher *s, size_t *index)
{
    plane_slot *slots = realloc(s->slots, (s->n_slots + 1) * sizeof *slots);
    if (!slots)
        return MVF_ERROR_MEMORY;
    s->slots = slots;
    slots[s->n_slots] = (plane_slot){.frame = MVF_NO_FRAME};
    MVF_TRY(s->ops->plane_create(s->engine, &slots[s->n_slots].plane));
    *index = s->n_slots++;
    return MVF_OK;
}

/* The slot that holds the frame, or NO_SLOT. */
static size_t find_slot(const mvf_searcher *s, int64_t frame)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (frame != MVF_NO_FRAME && s->slots[i].frame == frame)
            return i;
    return NO_SLOT;
}

static mvf_status need_finishers(mvf_searcher *s)
{
    int32_t n = mvf_processor_count() - 1;
    if (s->finishers)
        return MVF_OK;
    return mvf_pool_open(&s->finishers, n < 1 ? 1 : n < MOST_FINISHERS ? n : MOST_FINISHERS);
}

/* Those that may share in loading a picture for an engine without threads of its own, or NULL. */
static mvf_pool *loaders(mvf_searcher *s, const mvf_picture *picture)
{
    if (!s->ops->take || picture->memory != MVF_MEMORY_HOST || need_finishers(s) != MVF_OK)
        return NULL;
    return s->finishers;
}

/* A picture on the device, for an engine that reads host memory alone. */
static mvf_status load_fetched(mvf_searcher *s, mvf_engine_plane *plane, const mvf_picture *picture)
{
    heard_reason reason = {""};
    mvf_options options = s->options;
    mvf_picture fetched = *picture;
    size_t row_bytes = (size_t)s->config.width * (size_t)s->config.sample_bytes;
    void *samples = mvf_alloc_array((size_t)s->config.height, row_bytes);
    if (!samples)
        return MVF_ERROR_MEMORY;
    options.logger = (mvf_logger){hear_reason, &reason};
    mvf_status status =
        mvf_engine_cuda.fetch(&options, picture, samples, row_bytes, s->config.height);
    if (status != MVF_OK)
        status = mvf_fail(&s->options.logger, status,
                          "picture: it lies in CUDA memory, which cannot be read: %s", reason.text);
    fetched.memory = MVF_MEMORY_HOST;
    fetched.data = samples;
    fetched.stride_bytes = (ptrdiff_t)row_bytes;
    if (status == MVF_OK)
        status = s->ops->plane_load(s->engine, plane, &fetched, NULL);
    free(samples);
    return status;
}

/* Loads the picture into the idle slot that was unused for longest, or into a new one. */
static mvf_status load_slot(mvf_searcher *s, const mvf_picture *picture, size_t *index)
{
    *index = NO_SLOT;
    for (size_t i = 0; i < s->n_slots; i++)
        if (!s->slots[i].n_users &&
            (*index == NO_SLOT || s->slots[i].last_use < s->slots[*index].last_use))
            *index = i;
    if (*index == NO_SLOT)
        MVF_TRY(add_slot(s, index));
    plane_slot *slot = &s->slots[*index];
    slot->frame = MVF_NO_FRAME;
    if (picture->memory == MVF_MEMORY_CUDA && s->ops != &mvf_engine_cuda)
        MVF_TRY(load_fetched(s, slot->plane, picture));
    else
        MVF_TRY(s->ops->plane_load(s->engine, slot->plane, picture, loaders(s, picture)));
    slot->frame = picture->frame;
    return MVF_OK;
}

static void pin_slot(mvf_searcher *s, submission *entry, size_t which, size_t index)
{
    entry->slots[which] = index;
    s->slots[index].n_users++;
    s->slots[index].last_use = ++s->clock;
}

/* Pins a prepared plane for each picture. Those at hand come first, so that loading the others
 * cannot push them out. */
static mvf_status acquire_slots(mvf_searcher *s, submission *entry, const mvf_picture *const *all)
{
    size_t n = 1 + entry->n_references;
    for (size_t i = 0; i < n; i++) {
        size_t index = find_slot(s, all[i]->frame);
        entry->slots[i] = NO_SLOT;
        if (index != NO_SLOT)
            pin_slot(s, entry, i, index);
    }
    for (size_t i = 0; i < n; i++) {
        if (entry->slots[i] != NO_SLOT)
            continue;
        size_t index = find_slot(s, all[i]->frame);
        if (index == NO_SLOT)
            MVF_TRY(load_slot(s, all[i], &index));
        pin_slot(s, entry, i, index);
    }
    return MVF_OK;
}

static int is_truemotion(const mvf_searcher *s)
{
    return s->config.method == MVF_METHOD_TRUEMOTION;
}

/* Where the answers of the job for that reference go. */
static void set_answers(const mvf_searcher *s, submission *entry, size_t reference)
{
    mvf_engine_job *job = &entry->jobs[reference];
    size_t first = reference * s->config.n_matches;
    if (!is_truemotion(s)) {
        job->matches = entry->matches + first;
        if (entry->medians)
            job->medians = entry->medians + first;
        return;
    }
    job->blocks = entry->field->blocks + first;
    job->confidence = entry->field->confidence + first;
    job->dir = entry->dirs[reference];
    job->ref = (int16_t)reference;
}

static mvf_status start_jobs(mvf_searcher *s, submission *entry)
{
    size_t n_blocks = (size_t)s->config.cols * (size_t)s->config.rows;
    for (size_t i = entry->n_collected; i < entry->n_references; i++) {
        mvf_engine_job *job = &entry->jobs[i];
        *job = (mvf_engine_job){.current = s->slots[entry->slots[0]].plane,
                                .reference = s->slots[entry->slots[1 + i]].plane,
                                .n_hints = entry->n_hints};
        set_answers(s, entry, i);
        if (entry->predictors)
            job->predictors = entry->predictors + i * n_blocks;
        if (entry->hints)
            job->hints = entry->hints + i * n_blocks * (size_t)entry->n_hints;
        MVF_TRY(s->ops->submit(s->engine, &entry->jobs[i]));
    }
    return MVF_OK;
}

/* Hands a plane of a failed engine on. One that no job uses may be lost: its picture is then loaded
 * again when it is needed. */
static mvf_status move_slot(mvf_searcher *s, const mvf_engine_ops *failed_ops, plane_slot *slot)
{
    mvf_engine_plane *old = slot->plane;
    int is_used = slot->n_users > 0;
    mvf_picture view;
    mvf_picture_init(&view);
    slot->plane = NULL;
    MVF_TRY(s->ops->plane_create(s->engine, &slot->plane));
    if (!is_used && slot->frame == MVF_NO_FRAME)
        return MVF_OK;
    mvf_status status = failed_ops->plane_view(old, &view);
    if (status == MVF_OK)
        status = s->ops->plane_load(s->engine, slot->plane, &view, NULL);
    if (status != MVF_OK && !is_used)
        slot->frame = MVF_NO_FRAME;
    return is_used ? status : MVF_OK;
}

/* Hands the planes and the pending jobs of a failed engine to the CPU engine. */
static mvf_status move_to_cpu(mvf_searcher *s)
{
    const mvf_engine_ops *failed_ops = s->ops;
    mvf_engine *failed = s->engine;
    wait_for_finishers(s);
    for (size_t i = 0; i < s->count; i++)
        abandon_jobs(s, nth_submission(s, i));
    s->engine = NULL;
    mvf_status status = open_cpu(s);
    for (size_t i = 0; i < s->n_slots; i++) {
        mvf_engine_plane *old = s->slots[i].plane;
        if (status == MVF_OK)
            status = move_slot(s, failed_ops, &s->slots[i]);
        else
            s->slots[i].plane = NULL;
        failed_ops->plane_destroy(failed, old);
    }
    failed_ops->close(failed);
    for (size_t i = 0; i < s->count && status == MVF_OK; i++)
        status = start_jobs(s, nth_submission(s, i));
    s->lost = status;
    return status;
}

/* Whether a call that returned `status` should be made again, now on the CPU. */
static int falls_back(mvf_searcher *s, mvf_status *status)
{
    if (*status != MVF_ERROR_DEVICE || s->options.backend != MVF_BACKEND_AUTO ||
        s->ops == &mvf_engine_cpu)
        return 0;
    mvf_log(&s->options.logger, MVF_LOG_WARNING, "the GPU failed: the search goes on on the CPU");
    *status = move_to_cpu(s);
    return *status == MVF_OK;
}

static int8_t reference_direction(const mvf_picture *current, const mvf_picture *reference)
{
    if (current->frame != MVF_NO_FRAME && reference->frame != MVF_NO_FRAME)
        return reference->frame > current->frame ? 1 : -1;
    if (current->pts != MVF_NO_PTS && reference->pts != MVF_NO_PTS)
        return reference->pts > current->pts ? 1 : -1;
    return -1;
}

/* Everything of the field but vectors and costs. */
static void describe_field(const mvf_searcher *s, mvf_field *field, const mvf_picture *const *all,
                           void *opaque)
{
    const mvf_search_config *config = &s->config;
    field->frame = all[0]->frame;
    field->pts = all[0]->pts;
    field->time_base = all[0]->time_base;
    field->type = all[0]->type;
    field->source = MVF_VECTORS_SEARCH;
    field->width = config->width;
    field->height = config->height;
    field->bit_depth = config->bit_depth;
    field->mv_scale = config->match_scale > 4 ? config->match_scale : 4;
    field->opaque = opaque;
    if (config->partitions == MVF_PARTITIONS_FIXED && config->merge != MVF_MERGE_AVERAGE)
        field->grid = mvf_search_grid(config, 0);
    for (size_t i = 0; i < field->n_references; i++)
        field->references[i] = (mvf_reference){all[1 + i]->frame, all[1 + i]->pts};
}

/* Checks the guides and takes copies of them. */
static mvf_status copy_guides(mvf_searcher *s, submission *entry, const mvf_guides *guides)
{
    size_t n = entry->n_references * (size_t)s->config.cols * (size_t)s->config.rows;
    if (!guides)
        return MVF_OK;
    if (guides->hints && (guides->hints_per_block < 1 || guides->hints_per_block > MVF_MAX_HINTS))
        return mvf_fail(&s->options.logger, MVF_ERROR_ARGUMENT,
                        "%d hints per block: must be from 1 to %d", guides->hints_per_block,
                        MVF_MAX_HINTS);
    if (guides->predictors) {
        entry->predictors = mvf_alloc_array(n, sizeof(mvf_vector));
        if (!entry->predictors)
            return MVF_ERROR_MEMORY;
        memcpy(entry->predictors, guides->predictors, n * sizeof(mvf_vector));
    }
    if (guides->hints) {
        entry->n_hints = guides->hints_per_block;
        n *= (size_t)entry->n_hints;
        entry->hints = mvf_alloc_array(n, sizeof(mvf_vector));
        if (!entry->hints)
            return MVF_ERROR_MEMORY;
        memcpy(entry->hints, guides->hints, n * sizeof(mvf_vector));
    }
    return MVF_OK;
}

/* Its blocks are not zeroed first: all of them are written. */
static mvf_status alloc_field(const mvf_searcher *s, submission *entry, size_t n_blocks)
{
    MVF_TRY(mvf_field_alloc(&entry->field, entry->n_references, 0));
    mvf_field *field = entry->field;
    /* It is there without blocks, too: that the method rates them shows with the first frame. */
    if (is_truemotion(s) && !(field->confidence = malloc(n_blocks + 1)))
        return MVF_ERROR_MEMORY;
    if (!n_blocks)
        return MVF_OK;
    free(field->blocks);
    field->blocks = n_blocks <= SIZE_MAX / sizeof *field->blocks
                        ? malloc(n_blocks * sizeof *field->blocks)
                        : NULL;
    field->n_blocks = n_blocks;
    return field->blocks ? MVF_OK : MVF_ERROR_MEMORY;
}

static mvf_status prepare_submission(mvf_searcher *s, submission *entry,
                                     const mvf_picture *const *all, size_t n_references,
                                     const mvf_guides *guides, void *opaque)
{
    size_t n_matches = n_references * s->config.n_matches, n_blocks = n_matches;
    if (n_references && s->config.merge == MVF_MERGE_BEST)
        n_blocks = s->config.n_matches;
    if (n_references && s->config.merge == MVF_MERGE_AVERAGE)
        n_blocks = 2 * s->config.n_matches;
    *entry = (submission){.n_references = n_references, .searcher = s};
    if (!is_truemotion(s)) {
        entry->matches = mvf_alloc_aligned(n_matches, sizeof *entry->matches);
        if (!entry->matches)
            return MVF_ERROR_MEMORY;
    }
    if (s->ops == &mvf_engine_cuda && mvf_medians_are_of_matches(&s->config)) {
        entry->medians = mvf_alloc_aligned(n_matches, sizeof *entry->medians);
        if (!entry->medians)
            return MVF_ERROR_MEMORY;
    }
    MVF_TRY(alloc_field(s, entry, n_blocks));
    describe_field(s, entry->field, all, opaque);
    for (size_t i = 0; i < n_references; i++)
        entry->dirs[i] = reference_direction(all[0], all[1 + i]);
    return copy_guides(s, entry, guides);
}

/* Loads the planes and starts the jobs; once more on the CPU if the GPU fails at it. */
static mvf_status start_submission(mvf_searcher *s, submission *entry,
                                   const mvf_picture *const *all)
{
    mvf_status status;
    do {
        status = acquire_slots(s, entry, all);
        if (status == MVF_OK)
            status = start_jobs(s, entry);
        if (status == MVF_OK)
            return MVF_OK;
        abandon_jobs(s, entry);
        release_slots(s, entry);
    } while (falls_back(s, &status));
    return status;
}

mvf_status mvf_searcher_submit(mvf_searcher *s, const mvf_picture *current,
                               const mvf_picture *references, size_t n_references, void *opaque)
{
    return mvf_searcher_submit_guided(s, current, references, n_references, NULL, opaque);
}

mvf_status mvf_searcher_submit_guided(mvf_searcher *s, const mvf_picture *current,
                                      const mvf_picture *references, size_t n_references,
                                      const mvf_guides *guides, void *opaque)
{
    const mvf_picture *all[1 + MVF_MAX_REFERENCES] = {current};
    MVF_TRY(s->lost);
    if (!current || (n_references && !references))
        return mvf_fail(&s->options.logger, MVF_ERROR_ARGUMENT, "submit: no picture");
    if (n_references > MVF_MAX_REFERENCES)
        return mvf_fail(&s->options.logger, MVF_ERROR_ARGUMENT,
                        "%zu references: must be at most %d", n_references, MVF_MAX_REFERENCES);
    for (size_t i = 0; i < n_references; i++)
        all[1 + i] = &references[i];
    for (size_t i = 0; i < 1 + n_references && n_references; i++)
        MVF_TRY(check_picture(s, all[i]));
    if (s->count == (size_t)s->options.max_in_flight)
        return MVF_AGAIN;

    submission *entry = nth_submission(s, s->count);
    mvf_status status = prepare_submission(s, entry, all, n_references, guides, opaque);
    /* Without references nothing is searched, and no samples are needed. */
    if (status == MVF_OK && n_references)
        status = start_submission(s, entry, all);
    else
        entry->slots[0] = NO_SLOT;
    if (status != MVF_OK) {
        free_submission(entry);
        return status;
    }
    s->count++;
    s->flushing = 0;
    return MVF_OK;
}

static void average_task(void *context, int32_t task, int32_t worker)
{
    (void)worker;
    mvf_average_row(context, task);
}

static mvf_status view_slot(const mvf_searcher *s, size_t slot, mvf_plane *plane)
{
    const mvf_search_config *config = &s->config;
    mvf_picture view;
    mvf_picture_init(&view);
    MVF_TRY(s->ops->plane_view(s->slots[slot].plane, &view));
    *plane = (mvf_plane){.origin = (uint8_t *)(uintptr_t)view.data,
                         .stride_bytes = view.stride_bytes,
                         .width = config->width,
                         .height = config->height,
                         .bit_depth = config->bit_depth,
                         .sample_bytes = config->sample_bytes};
    return MVF_OK;
}

/* For engines without threads of their own. */
static void run_in_turn(mvf_engine *engine,
                        void (*run)(void *context, int32_t task, int32_t worker), void *context,
                        int32_t n_tasks)
{
    (void)engine;
    for (int32_t i = 0; i < n_tasks; i++)
        run(context, i, 0);
}

/* Tries the averages of the two best references, on the engine's threads, or on those that finish
 * fields, which have nothing to do where averages are tried: finishes_aside(). */
static mvf_status average(mvf_searcher *s, const submission *entry, const mvf_assembly *assembly,
                          mvf_choice *choices)
{
    mvf_plane current, references[MVF_MAX_REFERENCES];
    mvf_refiner refiner;
    MVF_TRY(view_slot(s, entry->slots[0], &current));
    for (size_t i = 0; i < entry->n_references; i++)
        MVF_TRY(view_slot(s, entry->slots[1 + i], &references[i]));
    mvf_refiner_init(&refiner, &s->config, s->options.cpu_level);
    mvf_averaging averaging = {assembly, &refiner, &current, references, choices};
    int32_t n_tasks = mvf_averaging_tasks(&s->config);
    mvf_pool_job job = {.run = average_task, .context = &averaging, .n_tasks = n_tasks};
    if (s->ops->run_tasks) {
        s->ops->run_tasks(s->engine, average_task, &averaging, n_tasks);
    } else if (need_finishers(s) == MVF_OK) {
        mvf_pool_submit(s->finishers, &job);
        mvf_pool_finished(s->finishers, &job, 1);
    } else {
        run_in_turn(s->engine, average_task, &averaging, n_tasks);
    }
    return MVF_OK;
}

/* Smooth paths through the vectors to each reference for which the engine has not made them. */
static mvf_status smooth_paths(mvf_searcher *s, const submission *entry)
{
    size_t n_blocks = (size_t)s->config.cols * (size_t)s->config.rows;
    mvf_plane current, reference;
    for (size_t i = 0; i < entry->n_references; i++) {
        if (entry->jobs[i].is_smooth)
            continue;
        MVF_TRY(view_slot(s, entry->slots[0], &current));
        MVF_TRY(view_slot(s, entry->slots[1 + i], &reference));
        mvf_path_input input = {.config = &s->config,
                                .level = s->options.cpu_level,
                                .current = &current,
                                .reference = &reference,
                                .run_tasks = s->ops->run_tasks ? s->ops->run_tasks : run_in_turn,
                                .engine = s->engine};
        if (entry->predictors)
            input.predictors = entry->predictors + i * n_blocks;
        MVF_TRY(mvf_path_smooth(&input, entry->matches + i * s->config.n_matches));
    }
    return MVF_OK;
}

/* True motion has written the blocks. */
static void mark_duplicate(const submission *entry)
{
    int32_t is_identical = entry->n_references > 0;
    for (size_t i = 0; i < entry->n_references; i++)
        is_identical &= entry->jobs[i].is_identical;
    if (is_identical)
        entry->field->flags |= MVF_FIELD_DUPLICATE;
}

/* Whether the engine has smoothed the vectors to all references. */
static int is_smoothed(const submission *entry)
{
    int is_smooth = entry->n_references > 0;
    for (size_t i = 0; i < entry->n_references; i++)
        is_smooth &= entry->jobs[i].is_smooth;
    return is_smooth;
}

static mvf_status assemble(mvf_searcher *s, submission *entry)
{
    if (is_truemotion(s)) {
        mark_duplicate(entry);
        return MVF_OK;
    }
    int is_smooth = is_smoothed(entry);
    if (s->config.smooth == MVF_SMOOTH_PATH && !is_smooth)
        MVF_TRY(smooth_paths(s, entry));
    mvf_assembly assembly = {.config = &s->config,
                             .matches = entry->matches,
                             .predictors = entry->predictors,
                             .medians = is_smooth ? entry->medians : NULL,
                             .dirs = entry->dirs,
                             .field = entry->field};
    mvf_choice *choices = NULL;
    mvf_status status = MVF_OK;
    if (s->config.merge != MVF_MERGE_NONE && entry->n_references) {
        choices = mvf_alloc_array(s->config.n_matches, sizeof *choices);
        if (!choices)
            return MVF_ERROR_MEMORY;
        mvf_merge_references(&assembly, choices);
        if (s->config.merge == MVF_MERGE_AVERAGE)
            status = average(s, entry, &assembly, choices);
        assembly.choices = choices;
    }
    if (status == MVF_OK)
        mvf_assemble_field(&assembly);
    free(choices);
    MVF_TRY(status);
    if (s->config.smooth == MVF_SMOOTH_MEDIAN && !is_smooth)
        return mvf_field_smooth(entry->field);
    return MVF_OK;
}

static mvf_status collect_jobs(mvf_searcher *s, submission *entry, int wait)
{
    while (entry->n_collected < entry->n_references) {
        mvf_engine_job *job = &entry->jobs[entry->n_collected];
        mvf_status status = s->ops->collect(s->engine, job, wait);
        if (status == MVF_OK)
            entry->n_collected++;
        else if (status == MVF_AGAIN || !falls_back(s, &status))
            return status;
    }
    return MVF_OK;
}

/* Finishing: from the answers of jobs that are collected to the field. */

static mvf_status finish(mvf_searcher *s, submission *entry)
{
    for (size_t i = 0; i < entry->n_references; i++)
        if (entry->jobs[i].state)
            take_job(s, &entry->jobs[i]);
    return assemble(s, entry);
}

static void finish_task(void *context, int32_t task, int32_t worker)
{
    submission *entry = context;
    (void)task;
    (void)worker;
    entry->status = finish(entry->searcher, entry);
}

/* Whether other threads can finish fields: of an engine that has none busy with the search, and
 * where no planes are looked at. */
static int finishes_aside(const mvf_searcher *s)
{
    return s->ops->take && s->config.merge != MVF_MERGE_AVERAGE;
}

/* Once the next submission is searched, has it finished; MVF_AGAIN before that. */
static mvf_status finish_next(mvf_searcher *s, int wait)
{
    submission *entry = nth_submission(s, s->n_finishing);
    mvf_status status = collect_jobs(s, entry, wait);
    if (status == MVF_AGAIN)
        return status;
    entry->finish = (mvf_pool_job){.run = finish_task, .context = entry};
    s->n_finishing++;
    if (status == MVF_OK && finishes_aside(s) && need_finishers(s) == MVF_OK) {
        entry->finish.n_tasks = 1;
        mvf_pool_submit(s->finishers, &entry->finish);
    } else {
        entry->status = status == MVF_OK ? finish(s, entry) : status;
    }
    return MVF_OK;
}

/* MVF_OK once the first submission is finished, and meanwhile hands on those behind it. */
static mvf_status finish_first(mvf_searcher *s, int wait)
{
    if (!s->n_finishing)
        MVF_TRY(finish_next(s, wait));
    while (finishes_aside(s) && s->n_finishing < s->count)
        if (finish_next(s, 0) == MVF_AGAIN)
            break;
    submission *entry = nth_submission(s, 0);
    if (!entry->finish.n_tasks || mvf_pool_finished(s->finishers, &entry->finish, wait))
        return MVF_OK;
    return MVF_AGAIN;
}

mvf_status mvf_searcher_receive(mvf_searcher *s, mvf_field **field)
{
    *field = NULL;
    MVF_TRY(s->lost);
    if (!s->count)
        return s->flushing ? MVF_EOF : MVF_AGAIN;
    submission *entry = nth_submission(s, 0);
    MVF_TRY(finish_first(s, s->flushing || s->count == (size_t)s->options.max_in_flight));
    mvf_status status = entry->status;
    if (status == MVF_OK) {
        *field = entry->field;
        entry->field = NULL;
    }
    abandon_jobs(s, entry);
    release_slots(s, entry);
    free_submission(entry);
    s->first = (s->first + 1) % (size_t)s->options.max_in_flight;
    s->count--;
    s->n_finishing--;
    return status;
}

mvf_status mvf_searcher_get_grid(const mvf_searcher *s, int32_t level, mvf_grid *grid)
{
    if (level < 0 || level >= s->config.n_levels)
        return MVF_ERROR_ARGUMENT;
    *grid = mvf_search_grid(&s->config, level);
    return MVF_OK;
}

mvf_status mvf_searcher_flush(mvf_searcher *s)
{
    s->flushing = 1;
    return MVF_OK;
}

mvf_status mvf_search(const mvf_options *options, int32_t width, int32_t height, int32_t bit_depth,
                      const mvf_picture *current, const mvf_picture *reference, mvf_field **field)
{
    mvf_searcher *s;
    *field = NULL;
    MVF_TRY(mvf_searcher_open(&s, options, width, height, bit_depth));
    mvf_status status = mvf_searcher_submit(s, current, reference, 1, NULL);
    if (status == MVF_OK)
        status = mvf_searcher_flush(s);
    if (status == MVF_OK)
        status = mvf_searcher_receive(s, field);
    mvf_searcher_close(&s);
    return status;
}

mvf_status mvf_sad_limit_measure(const mvf_options *from, mvf_sad_limit *limit)
{
    mvf_options options;
    *limit = (mvf_sad_limit){.backend = ""};
    MVF_TRY(copy_options(&options, from));
    MVF_TRY(mvf_options_check(&options));
    if (options.backend == MVF_BACKEND_CUDA)
        return mvf_engine_cuda.measure_sad(&options, limit);
    if (options.backend == MVF_BACKEND_AUTO) {
        mvf_options silent = options;
        silent.logger = (mvf_logger){NULL, NULL};
        if (mvf_engine_cuda.measure_sad(&silent, limit) == MVF_OK)
            return MVF_OK;
    }
    return mvf_engine_cpu.measure_sad(&options, limit);
}
