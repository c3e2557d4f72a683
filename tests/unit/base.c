/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdatomic.h>

#include "base/error.h"
#include "base/md5.h"
#include "base/memory.h"
#include "base/pool.h"

/* memory */

static void test_alloc_array(void **state)
{
    (void)state;
    uint8_t *bytes = mvf_alloc_array(1000, 3);
    assert_non_null(bytes);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(bytes[i], 0);
    free(bytes);
    assert_null(mvf_alloc_array(SIZE_MAX, 2));
    assert_null(mvf_alloc_array(2, SIZE_MAX));
    assert_null(mvf_alloc_array(SIZE_MAX / 2 + 1, 2));
    assert_null(mvf_alloc_array((size_t)1 << 33, (size_t)1 << 33));
    for (int i = 0; i < 3; i++) {
        void *empty = mvf_alloc_array(i == 0, i == 1);
        assert_non_null(empty);
        free(empty);
    }
}

static void test_grow_array(void **state)
{
    size_t capacity = 0, kept;
    int32_t *items = NULL;
    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        items = mvf_grow_array(items, &capacity, i + 1, sizeof *items);
        assert_non_null(items);
        assert_true(capacity > i && capacity < 2 * i + 100);
        items[i] = (int32_t)i;
    }
    kept = capacity;
    assert_ptr_equal(mvf_grow_array(items, &capacity, 1, sizeof *items), items);
    assert_null(mvf_grow_array(items, &capacity, SIZE_MAX / 2, sizeof *items));
    assert_int_equal(capacity, kept);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    free(items);
}

static void test_alloc_aligned(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300; size++) {
        uint8_t *bytes = mvf_alloc_aligned(size, 1);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % MVF_ALIGNMENT, 0);
        memset(bytes, 1, size);
        mvf_free_aligned(bytes);
    }
    assert_null(mvf_alloc_aligned(SIZE_MAX, 1));
    assert_null(mvf_alloc_aligned(SIZE_MAX - MVF_ALIGNMENT + 1, 1));
    assert_null(mvf_alloc_aligned(SIZE_MAX / 2 + 1, 2));
    assert_null(mvf_alloc_aligned((size_t)1 << 33, (size_t)1 << 33));
    mvf_free_aligned(NULL);
}

/* status and messages */

static void test_status_string(void **state)
{
    (void)state;
    for (int status = 1; status >= -20; status--) {
        const char *text = mvf_status_string((mvf_status)status);
        assert_non_null(text);
        assert_true(strlen(text) > 0);
        for (int other = 0; other > status && status >= MVF_ERROR_INTERNAL; other--)
            assert_string_not_equal(text, mvf_status_string((mvf_status)other));
    }
}

static void test_fail(void **state)
{
    unit_messages messages;
    mvf_logger logger = unit_logger(&messages);
    char text[5000];
    (void)state;
    assert_int_equal(mvf_fail(&logger, MVF_ERROR_IO, "%s: %d", "file", 7), MVF_ERROR_IO);
    unit_assert_message(&messages, "file: 7");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mvf_log(&logger, MVF_LOG_DEBUG, "%s", text);
    assert_int_equal(messages.level, MVF_LOG_DEBUG);
    logger.callback = NULL;
    assert_int_equal(mvf_fail(&logger, MVF_ERROR_DATA, "lost"), MVF_ERROR_DATA);
    assert_int_equal(mvf_fail(NULL, MVF_ERROR_DATA, "lost"), MVF_ERROR_DATA);
}

/* md5 */

static void test_md5_vectors(void **state)
{
    /* RFC 1321, A.5. */
    static const struct {
        const char *text, *digest;
    } vectors[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char hex[33];
        mvf_md5 md5;
        mvf_md5_init(&md5);
        mvf_md5_update(&md5, vectors[i].text, strlen(vectors[i].text));
        mvf_md5_finish(&md5, hex);
        assert_string_equal(hex, vectors[i].digest);
    }
}

static void test_md5_pieces(void **state)
{
    char bytes[300], whole[33], pieces[33];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        mvf_md5 md5;
        mvf_md5_init(&md5);
        mvf_md5_update(&md5, bytes, length);
        mvf_md5_finish(&md5, whole);
        mvf_md5_init(&md5);
        for (size_t at = 0, step = 1; at < length; at += step, step = step * 3 % 101 + 1) {
            step = step < length - at ? step : length - at;
            mvf_md5_update(&md5, bytes + at, step);
        }
        mvf_md5_finish(&md5, pieces);
        assert_string_equal(whole, pieces);
    }
}

/* pool */

#define N_JOBS 200
#define MAX_TASKS 37

typedef struct counted_job {
    mvf_pool_job job;
    int32_t n_workers;
    atomic_int runs[MAX_TASKS];
    atomic_int strangers;
} counted_job;

static void count_run(void *context, int32_t task, int32_t worker)
{
    counted_job *counted = context;
    if (task < 0 || task >= counted->job.n_tasks || worker < 0 || worker >= counted->n_workers)
        atomic_fetch_add(&counted->strangers, 1);
    else
        atomic_fetch_add(&counted->runs[task], 1);
}

static counted_job *submit_jobs(mvf_pool *pool, int32_t n_workers)
{
    counted_job *jobs = mvf_alloc_array(N_JOBS, sizeof *jobs);
    assert_non_null(jobs);
    for (int i = 0; i < N_JOBS; i++) {
        jobs[i].n_workers = n_workers;
        jobs[i].job =
            (mvf_pool_job){.run = count_run, .context = &jobs[i], .n_tasks = i % (MAX_TASKS + 1)};
        mvf_pool_submit(pool, &jobs[i].job);
    }
    return jobs;
}

static void check_runs(counted_job *job)
{
    assert_int_equal(atomic_load(&job->strangers), 0);
    for (int32_t task = 0; task < MAX_TASKS; task++)
        assert_int_equal(atomic_load(&job->runs[task]), task < job->job.n_tasks);
}

static void test_pool_jobs(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 8, 33};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        mvf_pool *pool;
        assert_int_equal(mvf_pool_open(&pool, sizes[i]), MVF_OK);
        counted_job *jobs = submit_jobs(pool, sizes[i]);
        /* In no order: each job tells for itself. */
        for (int j = 0; j < N_JOBS; j++) {
            counted_job *job = &jobs[(j * 77) % N_JOBS];
            assert_true(mvf_pool_finished(pool, &job->job, 1));
            check_runs(job);
            assert_true(mvf_pool_finished(pool, &job->job, 0));
        }
        mvf_pool_close(&pool);
        assert_null(pool);
        free(jobs);
    }
}

static void test_pool_close_waits(void **state)
{
    mvf_pool *pool;
    (void)state;
    assert_int_equal(mvf_pool_open(&pool, 2), MVF_OK);
    counted_job *jobs = submit_jobs(pool, 2);
    mvf_pool_close(&pool);
    for (int i = 0; i < N_JOBS; i++)
        check_runs(&jobs[i]);
    free(jobs);
    mvf_pool_close(&pool);
}

static void wait_for_permit(void *context, int32_t task, int32_t worker)
{
    (void)task;
    (void)worker;
    while (!atomic_load((atomic_int *)context))
        ;
}

static void test_pool_finished_does_not_wait(void **state)
{
    mvf_pool *pool;
    atomic_int permit = 0;
    mvf_pool_job job = {.run = wait_for_permit, .context = &permit, .n_tasks = 2};
    (void)state;
    assert_int_equal(mvf_pool_open(&pool, 1), MVF_OK);
    mvf_pool_submit(pool, &job);
    assert_false(mvf_pool_finished(pool, &job, 0));
    atomic_store(&permit, 1);
    assert_true(mvf_pool_finished(pool, &job, 1));
    mvf_pool_close(&pool);
    assert_true(mvf_processor_count() >= 1);
}

static void count_joined(void *context, int32_t task, int32_t worker)
{
    int *n = context;
    (void)task;
    *n += worker == -1;
}

/* Behind a job that stands still, jobs that are joined run here, wherever they are in the queue. */
static void test_pool_join(void **state)
{
    mvf_pool *pool;
    atomic_int permit = 0;
    int counts[4] = {0};
    mvf_pool_job still = {.run = wait_for_permit, .context = &permit, .n_tasks = 2}, jobs[4];
    (void)state;
    assert_int_equal(mvf_pool_open(&pool, 1), MVF_OK);
    mvf_pool_submit(pool, &still);
    for (int i = 0; i < 4; i++) {
        jobs[i] = (mvf_pool_job){.run = count_joined, .context = &counts[i], .n_tasks = 5};
        if (i < 3)
            mvf_pool_submit(pool, &jobs[i]);
    }
    mvf_pool_join(pool, &jobs[1]);
    assert_int_equal(counts[1], 5);
    mvf_pool_join(pool, &jobs[2]);
    assert_int_equal(counts[2], 5);
    mvf_pool_submit(pool, &jobs[3]);
    atomic_store(&permit, 1);
    assert_true(mvf_pool_finished(pool, &jobs[0], 1));
    assert_true(mvf_pool_finished(pool, &jobs[3], 1));
    assert_int_equal(counts[0] + counts[3], 0);
    mvf_pool_join(pool, &jobs[3]);
    mvf_pool_close(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc_array),
        cmocka_unit_test(test_grow_array),
        cmocka_unit_test(test_alloc_aligned),
        cmocka_unit_test(test_status_string),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_md5_vectors),
        cmocka_unit_test(test_md5_pieces),
        cmocka_unit_test(test_pool_jobs),
        cmocka_unit_test(test_pool_close_waits),
        cmocka_unit_test(test_pool_finished_does_not_wait),
        cmocka_unit_test(test_pool_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
