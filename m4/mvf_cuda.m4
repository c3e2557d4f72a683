# MVF_CUDA: finds nvcc and cuts the architecture list to what it knows.
#   --with-cuda=check|yes|no|DIR      check (default) goes on without nvcc, yes makes that an error
#   --with-cuda-arch="75 80 ..."      compute capabilities; PTX is added for the highest
# Sets NVCC, NVCC_ARCH_FLAGS, CUDA_CFLAGS, the conditional HAVE_CUDA and the define HAVE_CUDA.
AC_DEFUN([MVF_CUDA], [
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=check|yes|no|DIR], [build the CUDA engine, with the toolkit in DIR @<:@check@:>@])],
    [], [with_cuda=check])
AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST], [compute capabilities to build for @<:@"75 80 86 89 90 100 120"@:>@])],
    [], [with_cuda_arch="75 80 86 89 90 100 120"])

mvf_cuda_path=$PATH:/usr/local/cuda/bin
mvf_cuda_summary="no (--with-cuda=no)"
mvf_have_cuda=no
AS_CASE([$with_cuda],
    [no], [],
    [check|yes], [mvf_have_cuda=maybe],
    [mvf_have_cuda=maybe; mvf_cuda_path=$with_cuda/bin; NVCC=])
AS_IF([test $mvf_have_cuda = maybe], [
    AC_PATH_PROG([NVCC], [nvcc], [], [$mvf_cuda_path])
    AS_IF([test -n "$NVCC"], [_MVF_CUDA_CHECK])
    AS_IF([test $mvf_have_cuda = maybe], [
        mvf_have_cuda=no
        mvf_cuda_summary="no: no working nvcc was found, so searches run on the CPU (--with-cuda=DIR names a toolkit)"
        AS_IF([test "x$with_cuda" != xcheck],
            [AC_MSG_ERROR([--with-cuda=$with_cuda: no working nvcc in $mvf_cuda_path])])
    ])
])
AM_CONDITIONAL([HAVE_CUDA], [test $mvf_have_cuda = yes])
_MVF_CUDA_EMULATOR
])

# The tests run the kernels on the CPU too: that takes the fatbins and a compiler for C++17.
AC_DEFUN([_MVF_CUDA_EMULATOR], [
AC_ARG_VAR([CXX], [C++ compiler, for tests of the CUDA kernels])
AC_ARG_VAR([CXXFLAGS], [flags for it])
mvf_have_emulator=no
WATCH_FLAGS=
AS_IF([test $mvf_have_cuda = yes], [
    AS_CASE([$CC],
        [*clang*], [AC_CHECK_PROGS([CXX], [clang++ g++ c++])],
        [AC_CHECK_PROGS([CXX], [g++ clang++ c++])])
    AS_IF([test -z "$CXXFLAGS"], [CXXFLAGS=$CFLAGS])
    AC_MSG_CHECKING([whether ${CXX:-no compiler} makes shared libraries of C++17])
    AS_ECHO(["template <auto N> struct number {}; thread_local int x; int *f() { number<1>(); return &x; }"]) > conftest.cpp
    AS_IF([test -n "$CXX" && $CXX $CXXFLAGS -std=c++17 -fPIC -shared -Wl,-z,nodelete \
            -o conftest.so conftest.cpp >&AS_MESSAGE_LOG_FD 2>&1],
        [mvf_have_emulator=yes])
    AC_MSG_RESULT([$mvf_have_emulator])
    dnl Calls for accesses to memory, as for ThreadSanitizer: there are two spellings of the details.
    AC_MSG_CHECKING([how it makes accesses to memory known])
    for mvf_flags in "--param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0" \
            "-mllvm -tsan-distinguish-volatile=1 -mllvm -tsan-instrument-func-entry-exit=0"; do
        AS_IF([test -z "$WATCH_FLAGS" && test $mvf_have_emulator = yes &&
                $CXX $CXXFLAGS -std=c++17 -Werror -fPIC -fsanitize=thread $mvf_flags -c \
                -o conftest.so conftest.cpp >&AS_MESSAGE_LOG_FD 2>&1],
            [WATCH_FLAGS="-fsanitize=thread $mvf_flags"])
    done
    AC_MSG_RESULT([${WATCH_FLAGS:-it does not}])
    AC_SUBST([WATCH_FLAGS])
    rm -f conftest.cpp conftest.so
])
AM_CONDITIONAL([HAVE_CUDA_EMULATOR], [test $mvf_have_emulator = yes])
AM_CONDITIONAL([HAVE_CUDA_WATCHING], [test -n "$WATCH_FLAGS"])
])

# The compiler's own list of architectures is the test that it works.
AC_DEFUN([_MVF_CUDA_CHECK], [
AC_MSG_CHECKING([the architectures that $NVCC offers])
mvf_cuda_known=$("$NVCC" --list-gpu-arch 2>/dev/null | $SED -n 's/^compute_//p' | tr '\n' ' ')
AC_MSG_RESULT([${mvf_cuda_known:-none}])
AS_IF([test -n "$mvf_cuda_known"], [
    mvf_cuda_archs=
    for mvf_arch in $with_cuda_arch; do
        AS_CASE([" $mvf_cuda_known "],
            [*" $mvf_arch "*], [mvf_cuda_archs="$mvf_cuda_archs $mvf_arch"],
            [AC_MSG_WARN([$NVCC does not offer compute capability $mvf_arch; left out])])
    done
    AS_IF([test -z "$mvf_cuda_archs"],
        [AC_MSG_ERROR([none of the compute capabilities "$with_cuda_arch" is offered by $NVCC])])
    NVCC_ARCH_FLAGS=
    mvf_highest=0
    for mvf_arch in $mvf_cuda_archs; do
        NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode=arch=compute_$mvf_arch,code=sm_$mvf_arch"
        AS_IF([test $mvf_arch -gt $mvf_highest], [mvf_highest=$mvf_arch])
    done
    NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode=arch=compute_$mvf_highest,code=compute_$mvf_highest"
    AC_SUBST([NVCC_ARCH_FLAGS])
    mvf_nvcc_release=$("$NVCC" --version | $SED -n 's/^.*release \(@<:@0-9.@:>@*\).*$/\1/p')
    mvf_cuda_home=$(dirname "$(dirname "$NVCC")")
    CUDA_CFLAGS="-isystem $mvf_cuda_home/include"
    AC_SUBST([CUDA_CFLAGS])
    mvf_saved_cppflags=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $CUDA_CFLAGS"
    AC_CHECK_HEADER([cuda.h], [
        mvf_have_cuda=yes
        mvf_cuda_summary="nvcc $mvf_nvcc_release for$mvf_cuda_archs"
        AC_DEFINE([HAVE_CUDA], [1], [Define to 1 when the CUDA engine is built.])
        AC_DEFINE_UNQUOTED([MVF_CUDA_BUILD], ["$mvf_nvcc_release:$mvf_cuda_archs"],
            [The CUDA compiler and the architectures built for.])
    ])
    CPPFLAGS=$mvf_saved_cppflags
])
])
