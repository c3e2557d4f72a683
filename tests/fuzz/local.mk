# Fuzz targets: with --enable-fuzzers for libFuzzer (tests/fuzz/fuzz.sh), else each is a program
# that takes the files of its corpus once.
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/corpus.tap tests/fuzz/fuzz.sh
if FUZZERS
fuzz_main =
fuzz_ldflags = -fsanitize=fuzzer
else
fuzz_main = tests/fuzz/corpus.c
fuzz_ldflags =
endif
fuzz_programs = \
	tests/fuzz/fuzz_flow tests/fuzz/fuzz_mvf tests/fuzz/fuzz_search
fuzz_sources = tests/fuzz/fuzz.h tests/fuzz/fuzz_file.h $(fuzz_main)
tests_fuzz_fuzz_flow_SOURCES = tests/fuzz/fuzz_flow.c $(fuzz_sources)
tests_fuzz_fuzz_flow_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_flow_LDADD = src/libmvf_internal.la
tests_fuzz_fuzz_mvf_SOURCES = tests/fuzz/fuzz_mvf.c $(fuzz_sources)
tests_fuzz_fuzz_mvf_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_mvf_LDADD = src/libmvf_internal.la
tests_fuzz_fuzz_search_SOURCES = tests/fuzz/fuzz_search.c $(fuzz_sources)
tests_fuzz_fuzz_search_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_search_LDADD = src/libmvf_internal.la
if HAVE_FFMPEG
fuzz_programs += tests/fuzz/fuzz_codec_vectors tests/fuzz/fuzz_names tests/fuzz/fuzz_options
fuzz_video = \
	src/libmvf_video_internal.la src/libmvf_internal.la $(FFMPEG_LIBS) $(TEXT_LIBS)
fuzz_command = $(filter-out src/cli/main.$(OBJEXT),$(src_cli_mvfield_OBJECTS))
tests_fuzz_fuzz_codec_vectors_SOURCES = tests/fuzz/fuzz_codec_vectors.c $(fuzz_sources)
tests_fuzz_fuzz_codec_vectors_CFLAGS = $(AM_CFLAGS) $(FFMPEG_CFLAGS)
tests_fuzz_fuzz_codec_vectors_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_codec_vectors_LDADD = $(fuzz_video)
tests_fuzz_fuzz_names_SOURCES = tests/fuzz/fuzz_names.c $(fuzz_sources)
tests_fuzz_fuzz_names_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_names_LDADD = src/cli/json.$(OBJEXT) src/libmvf_internal.la
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c $(fuzz_sources)
tests_fuzz_fuzz_options_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_options_LDADD = $(fuzz_command) $(fuzz_video)
endif
check_PROGRAMS += $(fuzz_programs)
fuzzers: $(fuzz_programs)
.PHONY: fuzzers
if !FUZZERS
TESTS += tests/fuzz/corpus.tap
endif
