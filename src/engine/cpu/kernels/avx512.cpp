#if defined(__x86_64__)
#define SWEETSPOT_KERNELS kernels_avx512
#define SWEETSPOT_KERNELS_NAME "avx512"
#define SWEETSPOT_LANES 16
#include "engine/cpu/kernels/kernels.inl"
#endif
