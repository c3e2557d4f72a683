# The public headers of libmvfield.
mvfieldincludedir = $(includedir)/mvfield
mvfieldinclude_HEADERS = \
	src/mvfield/analysis.h src/mvfield/field.h src/mvfield/flow.h src/mvfield/mvfield.h src/mvfield/picture.h src/mvfield/reader.h src/mvfield/search.h src/mvfield/shard.h \
	src/mvfield/sink.h src/mvfield/status.h src/mvfield/version.h

# What both libraries and the command are built on; it has no state, so each carries its own hidden copy.
noinst_LTLIBRARIES += src/libmvf_base.la
src_libmvf_base_la_SOURCES = \
	src/base/error.c src/base/error.h src/base/integers.h src/base/memory.c src/base/memory.h \
	src/base/part_file.c src/base/part_file.h

# The whole of libmvfield with its internal symbols, for the tests.
noinst_LTLIBRARIES += src/libmvf_internal.la
src_libmvf_internal_la_SOURCES = \
	src/base/bytes.h src/base/cpu.c src/base/cpu.h src/base/md5.c src/base/md5.h \
	src/base/pool.c src/base/pool.h src/base/status.c \
	src/field/check.c src/field/check.h src/field/compare.c src/field/field.c src/field/flow.c \
	src/field/global.c src/field/predict.c src/field/record.c src/field/record.h \
	src/plane/picture.c src/plane/plane.c src/plane/plane.h \
	src/search/config.c src/search/rate_cpu.c src/search/rate_cpu.h src/search/engine.h src/search/engine_cpu.c src/search/rank.c \
	src/search/rank.h src/search/rule.h src/search/searcher.c \
	src/search/bounds_128.h src/search/bounds_template.h src/search/full.c src/search/full.h \
	src/search/groups_template.h src/search/halve_template.h src/search/hier.c src/search/hier.h src/search/kernels.c src/search/kernels.h \
	src/search/kernels_c.c src/search/kernels_template.h src/search/means.c src/search/means.h src/search/pyramid.c \
	src/search/pyramid.h src/search/sad_template.h src/search/sums.c src/search/sums.h \
	src/sink/flow_reader.c src/sink/merge.c src/sink/mvf_file.c src/sink/mvf_file.h src/sink/mvf_reader.c src/sink/numpy.c \
	src/sink/numpy.h src/sink/output.c src/sink/output.h src/sink/png.c src/sink/png.h \
	src/sink/sink.c src/sink/sink.h src/sink/sink_csv.c src/sink/sink_flo.c src/sink/sink_jsonl.c \
	src/sink/sink_kitti.c src/sink/sink_md5.c src/sink/sink_mvf.c src/sink/sink_npy.c \
	src/sink/sink_npz.c src/sink/sink_null.c src/sink/sink_yuview.c src/sink/text.c \
	src/sink/text.h src/sink/zip.c src/sink/zip.h
# What encoders ask of a search.
src_libmvf_internal_la_SOURCES += \
	src/search/assemble.c src/search/assemble.h src/search/block_search.c \
	src/search/block_search.h src/search/guides.c src/search/merge.c src/search/merge.h \
	src/search/metric_rule.h src/search/path_rule.h src/search/path_smooth.c src/search/path_smooth.h src/search/patch.c src/search/patch.h src/search/predict.c \
	src/search/refine.c src/search/refine.h src/search/subpel.c src/search/subpel_rule.h \
	src/search/subpel_template.h
# Work on fields.
src_libmvf_internal_la_SOURCES += src/filter/median.c
# True motion.
src_libmvf_internal_la_SOURCES += \
	src/search/engine_truemotion.c src/search/truemotion.c src/search/truemotion.h \
	src/search/truemotion_blocks.c src/search/truemotion_check.c src/search/truemotion_cost.c \
	src/search/truemotion_field.c src/search/truemotion_image.c src/search/truemotion_labels.c \
	src/search/truemotion_median.c src/search/truemotion_parts.h src/search/truemotion_path.c \
	src/search/truemotion_rule.h
src_libmvf_internal_la_LIBADD = src/libmvf_base.la $(ZLIB_LIBS)

if X86_64
# One library for each instruction level above the baseline, with its own flags.
noinst_LTLIBRARIES += src/libmvf_ssse3.la src/libmvf_avx2.la src/libmvf_avx512.la
src_libmvf_internal_la_SOURCES += src/search/kernels_sse2.c
src_libmvf_ssse3_la_SOURCES = src/search/kernels_ssse3.c
src_libmvf_ssse3_la_CFLAGS = $(AM_CFLAGS) -mssse3
src_libmvf_avx2_la_SOURCES = \
	src/search/kernels_avx2.c src/search/patch_avx2.c src/search/subpel_avx2.c \
	src/search/truemotion_avx2.c
src_libmvf_avx2_la_CFLAGS = $(AM_CFLAGS) -mavx2 -mbmi -mbmi2 -mpopcnt
src_libmvf_avx512_la_SOURCES = \
	src/search/kernels_avx512.c src/search/loads_avx512.h src/search/means_avx512.c \
	src/search/quads_avx512.c
src_libmvf_avx512_la_CFLAGS = \
	$(AM_CFLAGS) -mavx2 -mbmi -mbmi2 -mpopcnt -mavx512f -mavx512bw -mavx512vl
src_libmvf_internal_la_LIBADD += src/libmvf_ssse3.la src/libmvf_avx2.la src/libmvf_avx512.la
endif

if HAVE_CUDA
# The device itself, which decoding uses too; like the base, each library carries its own hidden copy.
noinst_LTLIBRARIES += src/libmvf_cuda.la
src_libmvf_cuda_la_SOURCES = \
	src/cuda/device.c src/cuda/device.h src/cuda/driver.c src/cuda/driver.h
src_libmvf_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS)
src_libmvf_internal_la_LIBADD += src/libmvf_cuda.la
src_libmvf_internal_la_SOURCES += src/cuda/describe.c \
	src/search/engine_cuda.c src/search/engine_cuda.h src/search/hier_cuda.c \
	src/search/hier_cuda.h src/search/launch_cuda.c \
	src/search/block_search_cuda.c src/search/block_search_cuda.h \
	src/search/launch_cuda.h src/search/partition_cuda.c src/search/picture_cuda.c \
	src/search/partition_cuda.h src/search/rate_cuda.c src/search/refine_cuda.c \
	src/search/refine_cuda.h src/search/smooth_cuda.c src/search/smooth_cuda.h \
	src/search/truemotion_cuda.c src/search/truemotion_cuda.h
src_libmvf_internal_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS) $(CUDA_CFLAGS) -I$(top_srcdir)/kernels
else
src_libmvf_internal_la_SOURCES += src/search/engine_cuda_absent.c
src_libmvf_internal_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)
endif

# Interface version current:revision:age, by libtool's rules.
lib_LTLIBRARIES += src/libmvfield.la
src_libmvfield_la_SOURCES =
src_libmvfield_la_LIBADD = src/libmvf_internal.la
src_libmvfield_la_LDFLAGS = -version-info 0:0:0 -no-undefined
EXTRA_DIST += src/libmvfield.map src/libmvfield-video.map
if HAVE_VERSION_SCRIPT
src_libmvfield_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/src/libmvfield.map
src_libmvfield_la_DEPENDENCIES = $(src_libmvfield_la_LIBADD) src/libmvfield.map
endif
pkgconfig_DATA += src/mvfield.pc

if HAVE_FFMPEG
mvfieldinclude_HEADERS += src/mvfield/section.h src/mvfield/video.h
# The whole of libmvfield-video with its internal symbols, for the tests.
noinst_LTLIBRARIES += src/libmvf_video_internal.la
src_libmvf_video_internal_la_SOURCES = \
	src/overlay/arrows.c src/overlay/arrows.h src/overlay/canvas.c src/overlay/canvas.h \
	src/overlay/sprite.c src/overlay/sprite.h \
	src/video/attach.c src/video/codec_vectors.c src/video/decode.c src/video/encode.c src/video/entries.c src/video/entries.h \
	src/video/ffmpeg.c src/video/frame.c \
	src/video/input.c src/video/internal.h src/video/key_packet.c src/video/luma.c src/video/open.c \
	src/video/output.c src/video/overlay.c src/video/packets.c src/video/paint.c src/video/planar.c src/video/nvdec.h src/video/patience.c src/video/picture_pool.c \
	src/video/scale.c src/video/section.c src/video/section_reader.c src/video/seek.c src/video/source.c src/video/subtitles.c \
	src/video/timeline.c src/video/write.h
src_libmvf_video_internal_la_SOURCES += \
	src/overlay/areas.c src/overlay/areas.h src/overlay/blend.h src/overlay/cells.c \
	src/overlay/cells.h src/overlay/drawing.c src/overlay/drawing.h src/overlay/image.c \
	src/overlay/image.h src/overlay/legend.c src/overlay/legend.h src/overlay/text.h \
	src/video/container.c src/video/images.c src/video/turn.c
if HAVE_TEXT
src_libmvf_video_internal_la_SOURCES += src/overlay/text_freetype.c
else
src_libmvf_video_internal_la_SOURCES += src/overlay/text_absent.c
endif
src_libmvf_video_internal_la_LIBADD = src/libmvf_base.la
if HAVE_CUDA
src_libmvf_video_internal_la_SOURCES += src/video/nvdec.c
src_libmvf_video_internal_la_LIBADD += src/libmvf_cuda.la
else
src_libmvf_video_internal_la_SOURCES += src/video/nvdec_absent.c
endif
src_libmvf_video_internal_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS)
src_libmvf_video_internal_la_CFLAGS = $(AM_CFLAGS) $(FFMPEG_CFLAGS) $(TEXT_CFLAGS)

lib_LTLIBRARIES += src/libmvfield-video.la
src_libmvfield_video_la_SOURCES =
src_libmvfield_video_la_LIBADD = src/libmvf_video_internal.la src/libmvfield.la $(FFMPEG_LIBS) $(TEXT_LIBS)
src_libmvfield_video_la_LDFLAGS = -version-info 0:0:0 -no-undefined
if HAVE_VERSION_SCRIPT
src_libmvfield_video_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/src/libmvfield-video.map
src_libmvfield_video_la_DEPENDENCIES = src/libmvf_video_internal.la src/libmvfield.la src/libmvfield-video.map
endif
pkgconfig_DATA += src/mvfield-video.pc

bin_PROGRAMS += src/cli/mvfield
src_cli_mvfield_SOURCES = \
	src/cli/batch.c src/cli/batch.h src/cli/batch_list.c src/cli/merge.c src/cli/shard.c src/cli/shard.h \
	src/cli/commands.c src/cli/commands.h src/cli/completion.c src/cli/help.c src/cli/help.h \
	src/cli/hints.c src/cli/hints.h src/cli/extract.c src/cli/info.c src/cli/input.c src/cli/input.h src/cli/main.c src/cli/message.c \
	src/cli/named_file.c src/cli/named_file.h \
	src/cli/message.h src/cli/options.c src/cli/options.h src/cli/overlay.c src/cli/progress.c \
	src/cli/progress.h src/cli/run.c src/cli/run.h
src_cli_mvfield_SOURCES += src/cli/compare.c src/cli/json.c src/cli/json.h src/cli/stats.c
src_cli_mvfield_SOURCES += src/cli/draw_options.c src/cli/draw_options.h src/cli/overlay.h
src_cli_mvfield_SOURCES += src/cli/bench.c src/cli/bench_frames.c src/cli/bench_frames.h
src_cli_mvfield_SOURCES += src/cli/report.c src/cli/scene.c src/cli/scene.h
src_cli_mvfield_SOURCES += src/cli/ahead.c src/cli/ahead.h src/cli/line.c src/cli/line.h src/cli/timing.c src/cli/timing.h
src_cli_mvfield_SOURCES += src/cli/worker_plan.c src/cli/worker_plan.h src/cli/workers.c src/cli/workers.h
nodist_src_cli_mvfield_SOURCES = src/cli/report_page.h
BUILT_SOURCES += src/cli/report_page.h
EXTRA_DIST += src/cli/report.html
CLEANFILES += src/cli/report_page.h
src/cli/report.$(OBJEXT): src/cli/report_page.h
# The page as one C string.
src/cli/report_page.h: $(top_srcdir)/src/cli/report.html Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo 'static const char report_page[] ='; \
	$(SED) -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' \
		$(top_srcdir)/src/cli/report.html; echo ';'; } > $@.tmp && mv $@.tmp $@
src_cli_mvfield_LDADD = src/libmvfield-video.la src/libmvfield.la src/libmvf_base.la
endif
