# MVF_WARNINGS: --enable-werror, and WARNING_CFLAGS with the warnings that the compiler knows.
AC_DEFUN([MVF_WARNINGS], [
AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
    [], [enable_werror=no])
WARNING_CFLAGS=
mvf_saved_cflags=$CFLAGS
for mvf_flag in -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
        -Wpointer-arith -Wwrite-strings -Wformat=2 -Wundef; do
    CFLAGS="$mvf_saved_cflags -Werror $mvf_flag"
    AC_MSG_CHECKING([whether $CC takes $mvf_flag])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes]); WARNING_CFLAGS="$WARNING_CFLAGS $mvf_flag"],
        [AC_MSG_RESULT([no])])
done
CFLAGS=$mvf_saved_cflags
AS_IF([test "x$enable_werror" = xyes], [WARNING_CFLAGS="$WARNING_CFLAGS -Werror"])
AC_SUBST([WARNING_CFLAGS])
])
