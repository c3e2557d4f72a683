# MVF_TEXT: FreeType and fontconfig, for the words of legends and captions; --with-text is check | yes
# | no.
AC_DEFUN([MVF_TEXT], [
AC_ARG_WITH([text],
    [AS_HELP_STRING([--with-text@<:@=check|yes|no@:>@], [words on overlays, by FreeType and fontconfig @<:@check@:>@])],
    [], [with_text=check])
have_text=no
AS_IF([test "x$with_text" != xno], [
    PKG_CHECK_MODULES([TEXT], [freetype2 fontconfig], [have_text=yes],
        [AS_IF([test "x$with_text" = xyes],
            [AC_MSG_ERROR([--with-text needs FreeType and fontconfig (Debian: libfreetype-dev libfontconfig-dev)])])])
])
AS_IF([test "x$have_text" = xyes], [TEXT_PC="freetype2 fontconfig"], [TEXT_PC=])
AC_SUBST([TEXT_PC])
AM_CONDITIONAL([HAVE_TEXT], [test "x$have_text" = xyes])
])
