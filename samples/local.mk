EXTRA_DIST += samples/pictures.sh samples/debian-packages.sh samples/quickstart.sh samples/media/README.md \
	samples/media/street-540p.mp4

# Small programs on the public API, as a user would build them.
check_PROGRAMS += samples/embed_minimal
samples_embed_minimal_SOURCES = samples/embed_minimal.c
samples_embed_minimal_LDADD = src/libmvfield.la
if HAVE_FFMPEG
check_PROGRAMS += samples/lossless_coder
samples_lossless_coder_SOURCES = samples/lossless_coder.c
samples_lossless_coder_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS)
samples_lossless_coder_LDADD = src/libmvfield-video.la src/libmvfield.la $(ZLIB_LIBS)
if HAVE_AVFILTER
check_PROGRAMS += samples/attach_side_data
samples_attach_side_data_SOURCES = samples/attach_side_data.c
samples_attach_side_data_CFLAGS = $(AM_CFLAGS) $(AVFILTER_CFLAGS)
samples_attach_side_data_LDADD = src/libmvfield-video.la src/libmvfield.la $(AVFILTER_LIBS)
endif
endif

EXTRA_DIST += samples/kubernetes/extract-job.yaml samples/kubernetes/merge-job.yaml \
	samples/parallel/extract.sh samples/slurm/merge.sbatch samples/slurm/shard.sbatch \
	samples/slurm/submit.sh

EXTRA_DIST += samples/python/mvf.py samples/python/mvfield.py samples/python/plot_field.py

EXTRA_DIST += doc/pictures/arrows.jpg doc/pictures/cost.jpg doc/pictures/difference.jpg \
	doc/pictures/grid.jpg doc/pictures/partitions.jpg doc/pictures/side.jpg doc/pictures/wheel.jpg
