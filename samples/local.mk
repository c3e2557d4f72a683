EXTRA_DIST += samples/quickstart.sh
