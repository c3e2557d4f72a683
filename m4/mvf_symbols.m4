# MVF_SYMBOLS: whether the linker takes version scripts, which give each exported name its version
# and keep all other names inside.
AC_DEFUN([MVF_SYMBOLS], [
AC_MSG_CHECKING([whether the linker takes version scripts])
mvf_saved_ldflags=$LDFLAGS
AS_ECHO(["MVF { global: main; local: *; };"]) > conftest.map
LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [mvf_version_script=yes], [mvf_version_script=no])
LDFLAGS=$mvf_saved_ldflags
rm -f conftest.map
AC_MSG_RESULT([$mvf_version_script])
AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test $mvf_version_script = yes])
])
