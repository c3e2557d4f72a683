EXTRA_DIST += tests/run.sh
