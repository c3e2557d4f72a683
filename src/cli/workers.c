/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/workers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <mvfield/section.h>

#include "cli/ahead.h"
#include "cli/line.h"
#include "cli/message.h"
#include "cli/worker_plan.h"

/* Beyond what may wait, only so many of the section whose turn it is. */
#define LEAST_FIELDS 8
/* Bytes of luma of the frames that wait for a GPU, of all workers together. */
#define MOST_LUMA_AHEAD ((int64_t)200 << 20)

typedef struct node {
    mvf_field *field;
    int64_t n_bytes;
    struct node *next;
} node;

typedef enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE } job_state;

/* Frames for one worker: a section, or the source itself (NULL). */
typedef struct job {
    mvf_section *section;
    /* Which frames, and which of their fields; `first` goes on with each field. */
    line_frames frames;
    node *oldest, **end;
    int32_t n_fields;
    job_state state;
    /* How often it was begun. */
    int32_t n_runs;
    mvf_status status;
    struct job *next;
} job;

struct crew;

typedef struct worker {
    struct crew *crew;
    line l;
    mvf_section_reader *reader;
    job *at;
    pthread_t thread;
    int has_thread;
    /* Whether it neither decodes nor searches on a GPU any more. */
    int is_off_gpu;
} worker;

typedef struct crew {
    mvf_source *source;
    const cli_options *options;
    const worker_plan *plan;
    line_engines engines;
    pthread_mutex_t mutex;
    /* For the thread that empties the queues, and for the workers. */
    pthread_cond_t field_came, may_go_on;
    /* In the order of their frames, from the one whose fields are wanted next. */
    job *oldest, **end;
    int64_t n_bytes, most_bytes;
    worker *workers;
    int32_t n_workers, n_alive, n_running;
    int is_taking, is_stopping;
    /* Once there are no further jobs: why. */
    int is_exhausted;
    mvf_status exhausted;
    /* Where the next section begins, as far as that is known. */
    int64_t next_first;
    /* The first field that has not been handed over yet. */
    int64_t next_field, n_done;
    /* Whether the reading by sections has ended, and one decoder has to go on. */
    int needs_whole;
    /* Whether a GPU decodes that need not, and whether it has failed. */
    int can_leave_gpu, has_left_gpu;
    /* Devices that failed, by their place in the plan. */
    unsigned char is_lost[MAX_DEVICES];
    /* Of all threads, and of one of those that worked at the same time. */
    timing spent, share;
    /* When the last field was handed over. */
    int64_t ended_ns;
} crew;

static int64_t field_bytes(const mvf_field *field)
{
    size_t block = sizeof(mvf_block) + (field->confidence != NULL);
    return (int64_t)(sizeof *field + field->n_references * sizeof(mvf_reference) +
                     field->n_blocks * block);
}

/* The line's consumer: takes the field into the job's queue. */
static mvf_status queue_field(void *opaque, mvf_frame *frame, mvf_field **field)
{
    worker *self = opaque;
    crew *c = self->crew;
    job *j = self->at;
    node *added = malloc(sizeof *added);
    (void)frame;
    if (!added)
        return MVF_ERROR_MEMORY;
    *added = (node){.field = *field, .n_bytes = field_bytes(*field)};
    *field = NULL;
    pthread_mutex_lock(&c->mutex);
    while (!c->is_stopping && c->n_bytes > c->most_bytes &&
           (j != c->oldest || j->n_fields >= LEAST_FIELDS))
        pthread_cond_wait(&c->may_go_on, &c->mutex);
    *j->end = added;
    j->end = &added->next;
    j->n_fields++;
    j->frames.first = added->field->frame + 1;
    c->n_bytes += added->n_bytes;
    mvf_status status = c->is_stopping ? MVF_ERROR_INTERRUPTED : MVF_OK;
    pthread_cond_signal(&c->field_came);
    pthread_mutex_unlock(&c->mutex);
    return status;
}

static mvf_status read_section(void *reader, mvf_frame **frame)
{
    return mvf_section_reader_read(reader, frame);
}

/* Called with the mutex held, as all below that do not say otherwise. */
static job *add_job(crew *c, mvf_section *section)
{
    job *added = calloc(1, sizeof *added);
    if (!added)
        return NULL;
    added->section = section;
    added->end = &added->oldest;
    added->state = JOB_RUNNING;
    *c->end = added;
    c->end = &added->next;
    return added;
}

/* Which frames a section's worker reads, and which fields are the section's. The pair across the
 * border belongs to the section that has both frames. */
static line_frames section_frames(const crew *c, const mvf_section_info *info)
{
    int back = run_refers_back(c->options);
    line_frames frames = {.read = read_section, .start = info->first, .end = INT64_MAX};
    frames.first = info->first ? info->first + back : 0;
    if (info->end != MVF_SECTION_OPEN)
        frames.end = info->end + back;
    if (frames.end > run_end(c->options))
        frames.end = run_end(c->options);
    return frames;
}

/* How many frames after a section's own its fields need. */
static int32_t frames_beyond(const cli_options *options)
{
    if (options->vectors == VECTORS_CODEC)
        return 0;
    return options->reference == REFERENCE_BOTH ? 2 : 1;
}

/* Takes the next section, without the mutex meanwhile. */
static job *take_section(crew *c)
{
    const cli_options *options = c->options;
    mvf_section *section = NULL;
    mvf_section_info info;
    int back = run_refers_back(options);
    c->is_taking = 1;
    pthread_mutex_unlock(&c->mutex);
    mvf_status status = c->next_first + back < run_end(options)
                            ? mvf_source_next_section(c->source, options->first_frame - back,
                                                      frames_beyond(options), &section)
                            : MVF_EOF;
    pthread_mutex_lock(&c->mutex);
    c->is_taking = 0;
    job *taken = status == MVF_OK ? add_job(c, section) : NULL;
    if (taken) {
        mvf_section_get_info(section, &info);
        taken->frames = section_frames(c, &info);
        c->next_first = info.end == MVF_SECTION_OPEN ? INT64_MAX - 1 : info.end;
    } else {
        mvf_section_free(&section);
        c->is_exhausted = 1;
        c->exhausted = status == MVF_OK ? MVF_ERROR_MEMORY : status;
    }
    pthread_cond_broadcast(&c->may_go_on);
    return taken;
}

static job *find_waiting(const crew *c)
{
    job *j = c->oldest;
    while (j && j->state != JOB_WAITING)
        j = j->next;
    return j;
}

/* The next job, or NULL when there is nothing left to do. */
static job *take_job(crew *c)
{
    for (;;) {
        job *taken = c->is_stopping ? NULL : find_waiting(c);
        if (c->is_stopping)
            return NULL;
        if (!taken && !c->is_exhausted && !c->is_taking &&
            (!c->oldest || c->n_bytes <= c->most_bytes))
            taken = take_section(c);
        if (taken) {
            taken->state = JOB_RUNNING;
            c->n_running++;
            return taken;
        }
        /* What runs elsewhere may come back. */
        if (c->is_exhausted && !c->n_running)
            return NULL;
        if (!c->is_exhausted || c->n_running)
            pthread_cond_wait(&c->may_go_on, &c->mutex);
    }
}

/* Whether the first search may wait for a GPU meanwhile as decoding in software goes on. */
static int opens_gpu(const worker *self)
{
    const mvf_source_info *info = mvf_source_get_info(self->crew->source);
    return !self->l.searcher && self->l.search.backend != MVF_BACKEND_CPU &&
           self->crew->options->vectors != VECTORS_CODEC && !info->is_live &&
           info->hwaccel == MVF_HWACCEL_NONE;
}

/* Reads ahead into the time that the GPU takes to be there. */
static mvf_status read_ahead(worker *self, ahead *a, const line_frames *frames)
{
    const cli_options *options = self->crew->options;
    mvf_device_info device;
    int opens = opens_gpu(self);
    int64_t n_frames = frames->end - frames->start;
    if (options->vectors == VECTORS_SEARCH && frames->end < INT64_MAX)
        n_frames += (options->reference & REFERENCE_NEXT) != 0;
    mvf_status status = ahead_open(a, frames->read, frames->opaque, n_frames,
                                   opens ? MOST_LUMA_AHEAD / self->crew->plan->n_workers : 0);
    if (status != MVF_OK || !opens)
        return status;
    int64_t start = timing_now();
    if (mvf_device_describe(self->l.search.device, &device, NULL) != MVF_OK || !device.usable)
        ahead_stay_close(a);
    timing_add(&self->l.spent, TIMING_START, start);
    return MVF_OK;
}

/* With frames that are read by another thread: nothing else would decode while they are handed to
 * the search and fields taken from it. */
static mvf_status work_ahead(worker *self, line_frames frames)
{
    ahead a;
    mvf_status status = read_ahead(self, &a, &frames);
    if (status != MVF_OK)
        return status;
    frames.read = ahead_read;
    frames.opaque = &a;
    status = line_run(&self->l, &frames);
    /* A read of an input that gives nothing ends no other way. */
    if (!self->at->section)
        run_break_off(1);
    ahead_close(&a);
    if (!self->at->section)
        run_break_off(0);
    return status;
}

/* The source itself. */
static mvf_status work_whole(worker *self, line_frames frames)
{
    mvf_status status = MVF_OK;
    if (self->at->n_runs > 1)
        status =
            run_read_again(self->crew->source, self->crew->options, frames.first, &frames.start);
    return status == MVF_OK ? work_ahead(self, frames) : status;
}

/* Without the mutex. */
static mvf_status work(worker *self, job *j)
{
    crew *c = self->crew;
    self->at = j;
    line_frames frames = j->frames;
    if (!j->section)
        return work_whole(self, frames);
    if (!self->reader) {
        mvf_source_options options;
        run_source_options(&options, c->options);
        options.threads = c->plan->threads_per_worker;
        options.device = self->l.search.device;
        int64_t start = timing_now();
        mvf_status status = mvf_section_reader_open(&self->reader, c->source, &options);
        timing_add(&self->l.spent, TIMING_START, start);
        if (status != MVF_OK)
            return status;
    }
    frames.opaque = self->reader;
    mvf_status status = mvf_section_reader_start(self->reader, j->section);
    /* One that has read on cannot be begun again. */
    if (status != MVF_OK)
        return status == MVF_ERROR_UNSUPPORTED ? MVF_ERROR_DATA : status;
    return work_ahead(self, frames);
}

/* Whether the worker ends since its device is gone, of several: then the job waits for another one.
 * The last worker goes on on the CPU if that is allowed. */
static int loses_device(worker *self, job *j, mvf_status status)
{
    crew *c = self->crew;
    const worker_plan *plan = c->plan;
    if (plan->n_devices < 2 || self->l.search.backend == MVF_BACKEND_CPU ||
        (status != MVF_ERROR_DEVICE && status != MVF_ERROR_NO_DEVICE))
        return 0;
    int32_t place = (int32_t)(self - c->workers) % plan->n_devices;
    if (!c->is_lost[place])
        message_print(MVF_LOG_WARNING, "device %" PRId32 " failed, and is left out from here on",
                      plan->devices[place]);
    c->is_lost[place] = 1;
    j->state = JOB_WAITING;
    if (c->n_alive > 1 || c->options->search.backend == MVF_BACKEND_CUDA)
        return 1;
    message_print(MVF_LOG_WARNING, "no GPU is left: the search goes on on the CPU");
    self->l.search.backend = MVF_BACKEND_CPU;
    if (c->can_leave_gpu)
        mvf_source_leave_gpu(c->source);
    c->has_left_gpu = 1;
    return 0;
}

/* What was decoded on a GPU is lost with it: then the job waits to be done once more without one.
 */
static void leave_gpu(worker *self, job *j, mvf_status status)
{
    crew *c = self->crew;
    int is_lost = status == MVF_ERROR_DEVICE || status == MVF_ERROR_NO_DEVICE;
    if (!c->can_leave_gpu || self->is_off_gpu || c->plan->n_devices > 1 || !is_lost)
        return;
    if (!c->has_left_gpu)
        run_leaves_gpu(c->source, c->options, status, j->frames.first);
    c->has_left_gpu = 1;
    j->state = JOB_WAITING;
}

static void go_off_gpu(worker *self)
{
    mvf_section_reader_close(&self->reader);
    line_reset(&self->l);
    self->l.search.backend = MVF_BACKEND_CPU;
    self->is_off_gpu = 1;
}

static void *run_worker(void *opaque)
{
    worker *self = opaque;
    crew *c = self->crew;
    int goes_on = 1;
    pthread_mutex_lock(&c->mutex);
    while (goes_on) {
        job *j = take_job(c);
        if (!j)
            break;
        if (c->has_left_gpu && !self->is_off_gpu)
            go_off_gpu(self);
        j->n_runs++;
        pthread_mutex_unlock(&c->mutex);
        mvf_status status = work(self, j);
        pthread_mutex_lock(&c->mutex);
        c->n_running--;
        j->state = JOB_DONE;
        j->status = status;
        goes_on = !loses_device(self, j, status);
        leave_gpu(self, j, status);
        pthread_cond_signal(&c->field_came);
        pthread_cond_broadcast(&c->may_go_on);
    }
    c->n_alive--;
    pthread_cond_signal(&c->field_came);
    pthread_cond_broadcast(&c->may_go_on);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* Hands over the next field of the oldest job, without the mutex meanwhile. */
static mvf_status write_field(crew *c, run_consumer consume, void *opaque)
{
    job *j = c->oldest;
    node *taken = j->oldest;
    j->oldest = taken->next;
    if (!j->oldest)
        j->end = &j->oldest;
    j->n_fields--;
    c->n_bytes -= taken->n_bytes;
    pthread_cond_broadcast(&c->may_go_on);
    pthread_mutex_unlock(&c->mutex);
    int64_t start = timing_now();
    mvf_status status = consume(opaque, NULL, taken->field);
    timing spent = {.ns = {0}};
    timing_add(&spent, TIMING_WRITE, start);
    timing_gather(&c->spent, &c->share, &spent, 1);
    if (status == MVF_OK) {
        c->next_field = taken->field->frame + 1;
        progress_update(++c->n_done);
    }
    mvf_field_free(&taken->field);
    free(taken);
    pthread_mutex_lock(&c->mutex);
    return status;
}

/* Frees the oldest job, with the fields that it still has. */
static void drop_oldest(crew *c)
{
    job *j = c->oldest;
    c->oldest = j->next;
    if (!c->oldest)
        c->end = &c->oldest;
    while (j->oldest) {
        node *first = j->oldest;
        j->oldest = first->next;
        c->n_bytes -= first->n_bytes;
        mvf_field_free(&first->field);
        free(first);
    }
    mvf_section_free(&j->section);
    free(j);
    pthread_cond_broadcast(&c->may_go_on);
}

/* Empties the queues until all is done, or something fails: the first failure in the order of
 * frames counts. */
static mvf_status write_fields(crew *c, run_consumer consume, void *opaque)
{
    mvf_status status = MVF_OK;
    pthread_mutex_lock(&c->mutex);
    while (status == MVF_OK) {
        job *j = c->oldest;
        if (j && j->oldest) {
            status = write_field(c, consume, opaque);
        } else if (j && (j->state == JOB_DONE || !c->n_alive)) {
            status = j->status;
            c->needs_whole = j->section && status == MVF_ERROR_DATA;
            if (status == MVF_OK)
                drop_oldest(c);
        } else if (!c->n_alive) {
            status = c->exhausted;
            /* Of a video that ends before the first frame that is wanted nothing was decoded. */
            c->needs_whole = status == MVF_ERROR_DATA || status == MVF_ERROR_UNSUPPORTED ||
                             (status == MVF_EOF && !c->n_done);
        } else {
            pthread_cond_wait(&c->field_came, &c->mutex);
        }
    }
    c->is_stopping = 1;
    c->ended_ns = timing_now();
    pthread_cond_broadcast(&c->may_go_on);
    pthread_mutex_unlock(&c->mutex);
    /* A worker may wait for an input that gives nothing. */
    run_break_off(status != MVF_EOF && !c->needs_whole);
    return status == MVF_EOF ? MVF_OK : status;
}

static mvf_status start_worker(crew *c, int32_t index)
{
    worker *self = &c->workers[index];
    const worker_plan *plan = c->plan;
    self->crew = c;
    line_init(&self->l, c->options, &c->engines, queue_field, self);
    self->l.is_live = mvf_source_get_info(c->source)->is_live;
    if (c->can_leave_gpu)
        self->l.search.logger = message_warning_logger();
    worker_plan_search(plan, index, &self->l.search);
    c->n_workers++;
    pthread_mutex_lock(&c->mutex);
    c->n_alive++;
    pthread_mutex_unlock(&c->mutex);
    if (!pthread_create(&self->thread, NULL, run_worker, self)) {
        self->has_thread = 1;
        return MVF_OK;
    }
    pthread_mutex_lock(&c->mutex);
    c->n_alive--;
    pthread_mutex_unlock(&c->mutex);
    return MVF_ERROR_MEMORY;
}

static void end_workers(crew *c)
{
    for (int32_t i = 0; i < c->n_workers; i++) {
        worker *self = &c->workers[i];
        if (self->has_thread)
            pthread_join(self->thread, NULL);
        /* It wrote nothing, but waited until there was room for its fields. */
        self->l.spent.ns[TIMING_WRITE] = 0;
        timing_gather(&c->spent, &c->share, &self->l.spent, c->n_workers);
        line_reset(&self->l);
        mvf_section_reader_close(&self->reader);
    }
    run_break_off(0);
    free(c->workers);
    c->workers = NULL;
    c->n_workers = c->n_alive = 0;
    while (c->oldest)
        drop_oldest(c);
}

/* Runs the jobs that are there, and sections unless `is_exhausted`. */
static mvf_status run_crew(crew *c, const worker_plan *plan, run_consumer consume, void *opaque)
{
    mvf_status status = MVF_OK;
    c->plan = plan;
    c->is_stopping = 0;
    c->workers = calloc((size_t)plan->n_workers, sizeof *c->workers);
    if (!c->workers)
        status = MVF_ERROR_MEMORY;
    for (int32_t i = 0; i < plan->n_workers && status == MVF_OK; i++)
        status = start_worker(c, i);
    if (status == MVF_OK) {
        status = write_fields(c, consume, opaque);
    } else {
        pthread_mutex_lock(&c->mutex);
        c->is_stopping = 1;
        pthread_cond_broadcast(&c->may_go_on);
        pthread_mutex_unlock(&c->mutex);
    }
    end_workers(c);
    return status;
}

/* By one decoder, from the first field on that is missing. */
static mvf_status run_whole(crew *c, const worker_plan *plan, run_consumer consume, void *opaque)
{
    line_frames frames = {.read = run_read, .opaque = c->source, .end = run_end(c->options)};
    mvf_status status;
    if (c->n_done) {
        frames.first = c->next_field;
        frames.start = c->next_field - run_refers_back(c->options);
        status = mvf_source_read_on(c->source, frames.start);
    } else {
        status = mvf_source_read_on(c->source, 0);
        if (status == MVF_OK)
            status = run_seek(c->source, c->options, &frames.start);
    }
    if (status != MVF_OK)
        return status;
    c->is_exhausted = 1;
    c->exhausted = MVF_EOF;
    c->most_bytes = 0;
    job *whole = add_job(c, NULL);
    if (!whole)
        return MVF_ERROR_MEMORY;
    whole->frames = frames;
    whole->state = JOB_WAITING;
    return run_crew(c, plan, consume, opaque);
}

static void print_timing(const crew *c, int32_t n_workers, int64_t start)
{
    mvf_source_report report;
    mvf_source_get_report(c->source, &report);
    timing_print(&c->spent, &c->share, n_workers, c->n_done, c->ended_ns - start);
    message_report("  close     %8.3f s afterwards", 1e-9 * (double)(timing_now() - c->ended_ns));
    if (report.gpu_sessions)
        message_report("  NVDEC     %8" PRId64 " sessions", report.gpu_sessions);
}

static mvf_status run_planned(crew *c, const worker_plan *plan, run_consumer consume, void *opaque)
{
    const worker_plan whole = worker_plan_whole(plan, c->options);
    int64_t start = c->ended_ns = timing_now();
    mvf_status status = MVF_OK;
    progress_start(c->options->progress, run_expected_frames(c->source, c->options));
    c->needs_whole = plan->n_workers < 2;
    if (!c->needs_whole)
        status = run_crew(c, plan, consume, opaque);
    if (c->needs_whole) {
        plan = &whole;
        c->needs_whole = 0;
        status = run_whole(c, plan, consume, opaque);
    }
    progress_clear();
    if (c->options->verbose)
        print_timing(c, plan->n_workers, start);
    return status;
}

static int init_crew(crew *c)
{
    if (line_engines_init(&c->engines))
        return 0;
    if (pthread_mutex_init(&c->mutex, NULL)) {
        line_engines_destroy(&c->engines);
        return 0;
    }
    pthread_cond_init(&c->field_came, NULL);
    pthread_cond_init(&c->may_go_on, NULL);
    return 1;
}

mvf_status workers_run(mvf_source *source, const cli_options *options, run_consumer consume,
                       void *opaque)
{
    worker_plan plan;
    crew c = {.source = source, .options = options, .most_bytes = WORKER_WAITING_BYTES};
    c.end = &c.oldest;
    c.can_leave_gpu = run_can_leave_gpu(source, options);
    mvf_status status = worker_plan_make(&plan, source, options);
    if (status != MVF_OK)
        return status;
    if (!init_crew(&c))
        return MVF_ERROR_MEMORY;
    status = run_planned(&c, &plan, consume, opaque);
    pthread_cond_destroy(&c.may_go_on);
    pthread_cond_destroy(&c.field_came);
    pthread_mutex_destroy(&c.mutex);
    line_engines_destroy(&c.engines);
    return status;
}
