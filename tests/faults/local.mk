# Faults injected by a preloaded library: faults.h says how.
EXTRA_DIST += tests/cli/faults.tap tests/cli/faults_cuda.tap
if HAVE_FAULTS
check_LTLIBRARIES += tests/faults/libfaults.la
tests_faults_libfaults_la_SOURCES = \
	tests/faults/calls.c tests/faults/faults.h tests/faults/heap.c tests/faults/trial.c \
	tests/faults/verdict.c
tests_faults_libfaults_la_CFLAGS = $(AM_CFLAGS) -fno-builtin
tests_faults_libfaults_la_LIBADD = -ldl
# The path that is never used makes it a shared library.
tests_faults_libfaults_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
check_PROGRAMS += tests/faults/api
tests_faults_api_SOURCES = tests/faults/api.c
tests_faults_api_LDADD = src/libmvfield.la
if HAVE_FFMPEG
TESTS += tests/cli/faults.tap tests/cli/faults_cuda.tap
endif
endif
