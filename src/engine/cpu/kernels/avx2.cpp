#if defined(__x86_64__)
#define SWEETSPOT_KERNELS kernels_avx2
#define SWEETSPOT_KERNELS_NAME "avx2"
#define SWEETSPOT_LANES 8
#include "engine/cpu/kernels/kernels.inl"
#endif
