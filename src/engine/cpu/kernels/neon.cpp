#if defined(__aarch64__)
#define SWEETSPOT_KERNELS kernels_neon
#define SWEETSPOT_KERNELS_NAME "neon"
#define SWEETSPOT_LANES 4
#include "engine/cpu/kernels/kernels.inl"
#endif
