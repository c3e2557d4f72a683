# MVF_FFMPEG: FFmpeg 4.4 or later for libmvfield-video and the command line; --without-ffmpeg leaves
# both out and builds libmvfield alone.
AC_DEFUN([MVF_FFMPEG], [
AC_ARG_WITH([ffmpeg],
    [AS_HELP_STRING([--without-ffmpeg], [build libmvfield alone, without video input and the mvfield command])],
    [], [with_ffmpeg=yes])
mvf_ffmpeg_summary="no: libmvfield alone"
AS_IF([test "x$with_ffmpeg" != xno], [
    PKG_CHECK_MODULES([FFMPEG],
        [libavformat >= 58.76 libavcodec >= 58.134 libavutil >= 56.70 libswscale >= 5.9],
        [mvf_ffmpeg_summary="libavformat $($PKG_CONFIG --modversion libavformat)"],
        [AC_MSG_ERROR([FFmpeg 4.4 or later is needed (Debian: libavformat-dev libavcodec-dev libavutil-dev libswscale-dev); --without-ffmpeg builds libmvfield alone])])
])
AM_CONDITIONAL([HAVE_FFMPEG], [test "x$with_ffmpeg" != xno])
])
