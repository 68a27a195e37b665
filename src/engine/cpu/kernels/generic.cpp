#define SWEETSPOT_KERNELS kernels_generic
#define SWEETSPOT_KERNELS_NAME "generic"
#define SWEETSPOT_LANES 4
#include "engine/cpu/kernels/kernels.inl"
