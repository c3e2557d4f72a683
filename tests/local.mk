AM_TESTS_ENVIRONMENT = top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)'; \
	export top_srcdir top_builddir;
TEST_EXTENSIONS = .sh .tap
TAP_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
# A test that hangs is an error with a name: TEST_LIMIT= lets it wait for a debugger.
TEST_LIMIT = timeout -k 10 900
LOG_COMPILER = $(TEST_LIMIT)
SH_LOG_COMPILER = $(TEST_LIMIT) $(SHELL)
TAP_LOG_COMPILER = $(TEST_LIMIT) $(SHELL)

check_PROGRAMS += tests/check_kernels
tests_check_kernels_SOURCES = \
	tests/check_case.c tests/check_cuda.c tests/check_hier.c tests/check_kernels.c tests/check_kernels.h tests/check_planes.c \
	tests/check_search.c tests/check_twins.c
tests_check_kernels_SOURCES += tests/check_encoder.c tests/check_smooth_paths.c tests/oracle.c tests/oracle.h
tests_check_kernels_SOURCES += tests/check_truemotion.c tests/check_truemotion_cuda.c
tests_check_kernels_LDADD = src/libmvf_internal.la
if HAVE_CUDA
tests_check_kernels_SOURCES += tests/bench_cuda.c tests/bench_minimum.c tests/check_cuda_hier.c \
	tests/check_cuda_layout.c tests/check_cuda_pictures.c tests/check_cuda_rows.c \
	tests/check_smooth_cuda.c
nodist_tests_check_kernels_SOURCES = $(cuda_test_arrays)
endif
tests_check_kernels_CPPFLAGS = $(src_libmvf_internal_la_CPPFLAGS)

dist_check_SCRIPTS += tests/check_kernels_cuda.sh tests/kernel_report.sh
TESTS += tests/check_kernels $(dist_check_SCRIPTS)
EXTRA_DIST += tests/sanitizers/threads.sh tests/sanitizers/threads.supp tests/sanitizers/valgrind.sh
EXTRA_DIST += tests/media_results.sh tests/run.sh tests/bench_overlay.sh tests/packaging/debian.sh

# Unit tests of the core.
if HAVE_CMOCKA
unit_programs = \
	tests/unit/base tests/unit/encoder_options tests/unit/field tests/unit/flow tests/unit/guides tests/unit/mvf tests/unit/searcher \
	tests/unit/sink
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)
unit_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
unit_ldadd = src/libmvf_internal.la $(CMOCKA_LIBS)
tests_unit_base_SOURCES = tests/unit/base.c tests/unit/unit.h
tests_unit_base_CFLAGS = $(unit_cflags)
tests_unit_base_LDADD = $(unit_ldadd)
tests_unit_field_SOURCES = tests/unit/field.c tests/unit/unit.h
tests_unit_field_CFLAGS = $(unit_cflags)
tests_unit_field_LDADD = $(unit_ldadd)
tests_unit_flow_SOURCES = tests/unit/flow.c tests/unit/unit.h
tests_unit_flow_CFLAGS = $(unit_cflags)
tests_unit_flow_LDADD = $(unit_ldadd)
tests_unit_mvf_SOURCES = tests/unit/mvf.c tests/unit/unit.h
tests_unit_mvf_CFLAGS = $(unit_cflags)
tests_unit_mvf_LDADD = $(unit_ldadd)
tests_unit_encoder_options_SOURCES = tests/unit/encoder_options.c tests/unit/unit.h
tests_unit_encoder_options_CFLAGS = $(unit_cflags)
tests_unit_encoder_options_LDADD = $(unit_ldadd)
tests_unit_guides_SOURCES = tests/unit/guides.c tests/unit/unit.h
tests_unit_guides_CFLAGS = $(unit_cflags)
tests_unit_guides_LDADD = $(unit_ldadd)
tests_unit_searcher_SOURCES = tests/unit/searcher.c tests/unit/unit.h
tests_unit_searcher_CFLAGS = $(unit_cflags)
tests_unit_searcher_LDADD = $(unit_ldadd)
tests_unit_sink_SOURCES = tests/unit/sink.c tests/unit/unit.h
tests_unit_sink_CFLAGS = $(unit_cflags)
tests_unit_sink_LDADD = $(unit_ldadd)
endif

# The laws of the source tree.
law_tests = tests/law/api.tap tests/law/format.tap tests/law/headers.tap tests/law/includes.tap \
	tests/law/launch.tap tests/law/machine_code.tap tests/law/symbols.tap
TESTS += $(law_tests)
EXTRA_DIST += $(law_tests) .clang-format tests/cli/tap.sh tests/law/libmvfield.symbols \
	tests/law/libmvfield-video.symbols

# The command.
# What strangers send, and what takes long.
cli_tests = tests/cli/damage.tap tests/cli/hostile.tap tests/cli/source.tap tests/cli/decoders.tap tests/cli/shard.tap \
	tests/cli/load.tap tests/cli/overlay.tap tests/cli/draw.tap tests/cli/slurm.tap tests/cli/live.tap tests/cli/signals.tap
cli_tests += tests/cli/report.tap tests/cli/codec.tap tests/cli/encoder.tap tests/cli/formats.tap \
	tests/cli/messages.tap tests/cli/oracle.tap \
	tests/cli/resources.tap tests/cli/samples.tap tests/cli/search.tap tests/cli/seek.tap tests/cli/outputs.tap
cli_tests += tests/cli/batch.tap tests/cli/engines.tap tests/cli/hwaccel.tap
cli_tests += tests/cli/completion.tap tests/cli/install.tap tests/cli/manual.tap tests/cli/readme.tap tests/cli/bench.tap tests/cli/compare.tap tests/cli/python.tap tests/cli/smooth.tap tests/cli/truemotion.tap
if HAVE_FFMPEG
TESTS += $(cli_tests)
# After all others: libtool moves the libraries away while it links them anew for their place.
tests/cli/install.log: $(filter-out tests/cli/install.log,$(TEST_LOGS))
endif
EXTRA_DIST += $(cli_tests) tests/cli/clips.sh tests/cli/codec.py tests/cli/browser.py tests/cli/cover_first.py tests/cli/formats.py tests/cli/hostile.py tests/damage.py tests/signals.py \
	tests/cli/complete.py tests/cli/measure.py tests/cli/python.py

if HAVE_AVFILTER
check_PROGRAMS += tests/cli/mestimate
tests_cli_mestimate_SOURCES = tests/cli/mestimate.c
tests_cli_mestimate_CFLAGS = $(AM_CFLAGS) $(AVFILTER_CFLAGS)
tests_cli_mestimate_LDADD = $(AVFILTER_LIBS)
endif

# Unit tests of drawing and video.
if HAVE_FFMPEG
check_PROGRAMS += tests/bench_draw
tests_bench_draw_SOURCES = tests/bench_draw.c
tests_bench_draw_LDADD = \
	src/libmvf_video_internal.la src/libmvfield.la $(FFMPEG_LIBS) $(TEXT_LIBS)
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/draw tests/unit/source
TESTS += tests/unit/draw tests/unit/source
video_unit_ldadd = \
	src/libmvf_video_internal.la src/libmvfield.la $(FFMPEG_LIBS) $(TEXT_LIBS) $(CMOCKA_LIBS)
tests_unit_draw_SOURCES = tests/unit/draw.c tests/unit/draw_pinned.h tests/unit/unit.h
tests_unit_draw_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_draw_LDADD = $(video_unit_ldadd)
check_PROGRAMS += tests/unit/codec_vectors tests/unit/gpu_frames
TESTS += tests/unit/codec_vectors tests/unit/gpu_frames
tests_unit_gpu_frames_SOURCES = tests/unit/gpu_frames.c tests/unit/unit.h
tests_unit_gpu_frames_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(FFMPEG_CFLAGS)
tests_unit_gpu_frames_LDADD = $(video_unit_ldadd)
tests_unit_codec_vectors_SOURCES = tests/unit/codec_vectors.c tests/unit/unit.h
tests_unit_codec_vectors_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(FFMPEG_CFLAGS)
tests_unit_codec_vectors_LDADD = $(video_unit_ldadd)
tests_unit_source_SOURCES = tests/unit/source.c tests/unit/unit.h
tests_unit_source_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(FFMPEG_CFLAGS)
tests_unit_source_LDADD = $(video_unit_ldadd)
endif
endif

EXTRA_DIST += tests/bench/stragglers.py

# Much at once and for long.
if HAVE_FFMPEG
check_PROGRAMS += tests/load
tests_load_SOURCES = tests/load.c
tests_load_LDADD = src/libmvfield-video.la src/libmvfield.la
endif

# Run by hand: PERFORMANCE.md says how.
check_PROGRAMS += tests/bench_formats
tests_bench_formats_SOURCES = tests/bench_formats.c
tests_bench_formats_LDADD = src/libmvf_internal.la

# True motion on real images.
if HAVE_FFMPEG
check_PROGRAMS += tests/truemotion_accuracy
TESTS += tests/truemotion_accuracy
tests_truemotion_accuracy_SOURCES = tests/truemotion_accuracy.c
tests_truemotion_accuracy_LDADD = src/libmvfield-video.la src/libmvfield.la -lm
endif

# The tables of PERFORMANCE.md: make bench [BENCH_CLIP=FILE] [BENCH_ONLY='NAME...']
EXTRA_DIST += tests/bench/flow.py tests/bench/peers.py tests/bench/tables.sh
if HAVE_FFMPEG
bench: all $(check_PROGRAMS)
	$(AM_V_at)$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/bench/tables.sh $(BENCH_CLIP)
CLEANFILES += bench.json bench-flow.json bench-peers.json
endif
