# Each .cu becomes one C array that holds its fatbin: a single rule, because make would delete the
# middle file of a chain. NVCCFLAGS is the user's.
cuda_sources = kernels/block_search.cu kernels/hier_below.cu kernels/hier_pyramid.cu \
	kernels/hier_top.cu kernels/partition.cu kernels/plane.cu kernels/refine.cu \
	kernels/refine_matrix.cu kernels/search.cu kernels/search_eliminate.cu kernels/search_exhaust.cu \
	kernels/self_test.cu kernels/smooth_median.cu kernels/smooth_paths.cu kernels/truemotion.cu \
	kernels/truemotion_image.cu
EXTRA_DIST += $(cuda_sources) kernels/differences.h kernels/guides.h kernels/instructions.h \
	kernels/launch.h kernels/params.h kernels/paths.h kernels/rank.h kernels/sad.h \
	kernels/refine_block.h kernels/search_full.h kernels/vectors.h kernels/walk.h kernels/warp.h \
	kernels/embed.sh
# Of check_kernels alone.
cuda_test_sources = tests/minimum.cu
EXTRA_DIST += $(cuda_test_sources) tests/minimum.h

if HAVE_CUDA
cuda_arrays = $(cuda_sources:.cu=.fatbin.c)
cuda_test_arrays = $(cuda_test_sources:.cu=.fatbin.c)
nodist_src_libmvf_internal_la_SOURCES = $(cuda_arrays)
all_cuda_sources = $(cuda_sources) $(cuda_test_sources)
CLEANFILES += $(cuda_arrays) $(cuda_test_arrays) $(all_cuda_sources:.cu=.d) \
	$(all_cuda_sources:.cu=.fatbin) $(all_cuda_sources:.cu=.ptxas)

$(cuda_arrays) $(cuda_test_arrays): %.fatbin.c: %.cu $(top_srcdir)/kernels/embed.sh Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(top_srcdir)/kernels/embed.sh $@ $< \
		"$(NVCC)" -O3 -std=c++17 $(NVCC_ARCH_FLAGS) -I$(top_srcdir)/src \
		-I$(top_srcdir)/kernels $(NVCCFLAGS)

-include $(all_cuda_sources:.cu=.d)
endif
