EXTRA_DIST += samples/debian-packages.sh samples/quickstart.sh samples/media/README.md \
	samples/media/street-540p.mp4
