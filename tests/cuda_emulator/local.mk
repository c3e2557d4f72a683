# A CUDA driver for tests: emulator.h says what it does. Kernels come from all_cuda_sources.
emulator_headers = \
	tests/cuda_emulator/block.h tests/cuda_emulator/calls.h tests/cuda_emulator/cuda_pipeline.h \
	tests/cuda_emulator/cuvid.h tests/cuda_emulator/nvdec.h tests/cuda_emulator/unserved.h \
	tests/cuda_emulator/device_code.h tests/cuda_emulator/emulator.h tests/cuda_emulator/fiber.h \
	tests/cuda_emulator/guard.h tests/cuda_emulator/launch.h tests/cuda_emulator/objects.h
emulator_sources = \
	tests/cuda_emulator/calls.c tests/cuda_emulator/copy.c tests/cuda_emulator/driver.c \
	tests/cuda_emulator/fiber.c tests/cuda_emulator/guard.c tests/cuda_emulator/launch.c \
	tests/cuda_emulator/objects.c tests/cuda_emulator/random.c tests/cuda_emulator/stream.c \
	tests/cuda_emulator/warp.c
watching_sources = tests/cuda_emulator/watch.c
nvdec_sources = tests/cuda_emulator/nvdec.c tests/cuda_emulator/unserved_driver.c \
	tests/cuda_emulator/unserved_nvdec.c
EXTRA_DIST += $(emulator_headers) $(emulator_sources) $(watching_sources) $(nvdec_sources) \
	tests/cuda_emulator/compile.sh tests/cli/nvdec.tap \
	tests/cli/devices.tap tests/cli/emulated.tap

dist_check_SCRIPTS += tests/check_kernels_emulated.sh tests/check_kernels_watched.sh
if HAVE_FFMPEG
TESTS += tests/cli/devices.tap tests/cli/emulated.tap tests/cli/nvdec.tap
endif

if HAVE_CUDA_EMULATOR
emulator_library = tests/cuda_emulator/libcuda.so.1
check_DATA = $(emulator_library)
# The same, with every access to memory watched: watch.c. Ten times slower.
watching_library = tests/cuda_emulator/watched/libcuda.so.1
if HAVE_CUDA_WATCHING
check_DATA += $(watching_library)
endif
emulator_objects = $(emulator_sources:.c=.o)
nvdec_objects = $(nvdec_sources:.c=.o)
# A driver that FFmpeg can use, and an NVDEC.
if HAVE_FFMPEG
nvdec_driver = tests/cuda_emulator/nvdec/libcuda.so.1
nvdec_library = tests/cuda_emulator/nvdec/libnvcuvid.so.1
check_DATA += $(nvdec_driver) $(nvdec_library)
endif
emulator_watched = $(all_cuda_sources:%.cu=tests/cuda_emulator/watched/%.o)
emulator_kernels = $(all_cuda_sources:%.cu=tests/cuda_emulator/%.o)
watching_objects = $(watching_sources:.c=.o)
CLEANFILES += $(emulator_library) $(emulator_objects) $(emulator_kernels) \
	$(emulator_objects:.o=.d) $(emulator_kernels:.o=.d) $(emulator_kernels:.o=.cpp) \
	$(watching_library) $(watching_objects) $(emulator_watched) $(watching_objects:.o=.d) \
	$(emulator_watched:.o=.d) $(emulator_watched:.o=.cpp) $(nvdec_driver) $(nvdec_library) \
	$(nvdec_objects) $(nvdec_objects:.o=.d)
# The architecture whose code paths the kernels take.
emulator_flags = -D_GNU_SOURCE -D__CUDA_ARCH__=900 -fPIC -fvisibility=hidden \
	-I$(top_srcdir)/tests/cuda_emulator -I$(top_srcdir)/src -I$(top_srcdir)/kernels

$(nvdec_objects): private emulator_flags += $(FFMPEG_CFLAGS)
$(emulator_objects) $(watching_objects) $(nvdec_objects): %.o: %.c Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CC) $(CFLAGS) -O2 -std=gnu11 $(WARNING_CFLAGS) \
		$(emulator_flags) $(CUDA_CFLAGS) -MD -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(emulator_kernels): tests/cuda_emulator/%.o: %.cu %.fatbin.c \
		$(top_srcdir)/tests/cuda_emulator/compile.sh Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(top_srcdir)/tests/cuda_emulator/compile.sh $@ $< \
		$(*D) $(CXX) $(CXXFLAGS) -O2 -std=c++17 -fno-strict-aliasing $(emulator_flags) \
		-include device_code.h

$(emulator_watched): tests/cuda_emulator/watched/%.o: %.cu %.fatbin.c \
		$(top_srcdir)/tests/cuda_emulator/compile.sh Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(top_srcdir)/tests/cuda_emulator/compile.sh $@ $< \
		$(*D) $(CXX) $(CXXFLAGS) -O1 -std=c++17 -fno-strict-aliasing -fno-threadsafe-statics $(emulator_flags) \
		-include device_code.h $(WATCH_FLAGS)

# It stays loaded, so that counts last as long as the process.
$(emulator_library): $(emulator_objects) $(emulator_kernels)
	$(AM_V_GEN)$(CXX) $(CXXFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -o $@ \
		$(emulator_objects) $(emulator_kernels) -lpthread -ldl

$(watching_library): $(emulator_objects) $(watching_objects) $(emulator_watched)
	$(AM_V_GEN)$(CXX) $(CXXFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -o $@ \
		$(emulator_objects) $(watching_objects) $(emulator_watched) -lpthread -ldl

$(nvdec_driver): $(emulator_objects) $(emulator_kernels) tests/cuda_emulator/unserved_driver.o
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CXX) $(CXXFLAGS) -shared -Wl,-soname,libcuda.so.1 \
		-Wl,-z,nodelete -o $@ $(emulator_objects) $(emulator_kernels) \
		tests/cuda_emulator/unserved_driver.o -lpthread -ldl

$(nvdec_library): $(nvdec_driver) tests/cuda_emulator/nvdec.o tests/cuda_emulator/unserved_nvdec.o
	$(AM_V_GEN)$(CC) $(CFLAGS) -shared -Wl,-soname,libnvcuvid.so.1 -Wl,-z,nodelete -o $@ \
		tests/cuda_emulator/nvdec.o tests/cuda_emulator/unserved_nvdec.o $(nvdec_driver) \
		$(FFMPEG_LIBS) -lpthread

-include $(emulator_objects:.o=.d) $(emulator_kernels:.o=.d) $(watching_objects:.o=.d) \
	$(emulator_watched:.o=.d) $(nvdec_objects:.o=.d)
endif
