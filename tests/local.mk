AM_TESTS_ENVIRONMENT = top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)'; \
	export top_srcdir top_builddir;
TEST_EXTENSIONS = .sh .tap
TAP_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh

check_PROGRAMS += tests/check_kernels
tests_check_kernels_SOURCES = \
	tests/check_cuda.c tests/check_kernels.c tests/check_kernels.h tests/check_planes.c \
	tests/check_search.c
tests_check_kernels_SOURCES += tests/check_encoder.c tests/oracle.c tests/oracle.h
tests_check_kernels_LDADD = src/libmvf_internal.la
if HAVE_CUDA
tests_check_kernels_SOURCES += tests/bench_cuda.c
endif
tests_check_kernels_CPPFLAGS = $(src_libmvf_internal_la_CPPFLAGS)

dist_check_SCRIPTS = tests/check_kernels_cuda.sh tests/kernel_report.sh
TESTS += tests/check_kernels $(dist_check_SCRIPTS)
EXTRA_DIST += tests/run.sh
