#include "engine/cuda/matmul.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>

#include "core/error.h"
#include "core/shared_library.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace sweetspot::engine::cuda {
namespace {

struct Library {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  decltype(&cublasLtMatmulDescCreate) make_product = nullptr;
  decltype(&cublasLtMatmulDescDestroy) end_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) make_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) end_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) end_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
};

// Null if the library or one of its functions is missing.
std::unique_ptr<const Library> load() {
  const char* wanted = std::getenv("SWEETSPOT_CUBLASLT");
  if (wanted && std::string_view(wanted) == "0") return nullptr;
  core::SharedLibrary file({"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13",
                            "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12"});
  auto library = std::make_unique<Library>();
  file.find("cublasLtCreate", library->create);
  file.find("cublasLtMatmul", library->matmul);
  file.find("cublasLtMatmulAlgoGetHeuristic", library->choose);
  file.find("cublasLtMatmulDescCreate", library->make_product);
  file.find("cublasLtMatmulDescDestroy", library->end_product);
  file.find("cublasLtMatmulDescSetAttribute", library->set_product);
  file.find("cublasLtMatrixLayoutCreate", library->make_layout);
  file.find("cublasLtMatrixLayoutDestroy", library->end_layout);
  file.find("cublasLtMatrixLayoutSetAttribute", library->set_layout);
  file.find("cublasLtMatmulPreferenceCreate", library->make_preference);
  file.find("cublasLtMatmulPreferenceDestroy", library->end_preference);
  file.find("cublasLtMatmulPreferenceSetAttribute", library->set_preference);
  if (!file.lack().empty()) return nullptr;
  return library;
}

const Library* library() {
  static const std::unique_ptr<const Library> loaded = load();
  return loaded.get();
}

void check_cublas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw core::MachineError(
        fmt::format("cuBLASLt failed at {} (status {}); SWEETSPOT_CUBLASLT=0 does without it",
                    doing, static_cast<int>(status)));
}

// What a product needs each time, prepared once for its sizes. The library is column-major: it
// computes the transpose, from the right operand and the left one in this order.
struct Prepared {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, to = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  cublasLtHandle_t handle = nullptr;

  Prepared(const Matmul& m, cublasLtHandle_t of_device) : handle(of_device) {
    const Library& lib = *library();
    const cudaDataType_t type = m.bf16 ? CUDA_R_16BF : CUDA_R_32F;
    check_cublas(
        lib.make_product(&product, m.bf16 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32,
                         CUDA_R_32F),
        "a product");
    const auto set = [&](cublasLtMatmulDescAttributes_t what, const auto& value) {
      check_cublas(lib.set_product(product, what, &value, sizeof value), "a product");
    };
    const auto turned = [](bool is) { return is ? CUBLAS_OP_T : CUBLAS_OP_N; };
    set(CUBLASLT_MATMUL_DESC_TRANSA, turned(m.right_turned));
    set(CUBLASLT_MATMUL_DESC_TRANSB, turned(m.left_turned));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, m.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
    if (m.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, m.bias);
    const auto lay_out = [&](cublasLtMatrixLayout_t& layout, cudaDataType_t of, std::int64_t rows,
                             std::int64_t columns) {
      check_cublas(lib.make_layout(&layout, of, static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows), columns),
                   "a matrix");
      if (m.splits == 1) return;
      const std::int32_t count = m.splits;
      const std::int64_t apart = rows * columns;
      check_cublas(lib.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                   "a matrix");
      check_cublas(
          lib.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof apart),
          "a matrix");
    };
    lay_out(left, type, m.left_turned ? m.depth : m.rows, m.left_turned ? m.rows : m.depth);
    lay_out(right, type, m.right_turned ? m.columns : m.depth,
            m.right_turned ? m.depth : m.columns);
    lay_out(to, m.to_bf16 ? CUDA_R_16BF : CUDA_R_32F, m.rows, m.columns);
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(lib.make_preference(&preference), "a product's limits");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
      check_cublas(lib.set_preference(preference, what, &value, sizeof value),
                   "a product's limits");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::size_t{matmul_workspace_bytes});
    // Splits of the depth are added by a separate kernel, in a fixed order.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    constexpr std::uint32_t alignment = 16;  // of a weight in the flat buffer
    for (const auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(which, alignment);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        lib.choose(handle, product, right, left, to, to, preference, 1, &best, &found);
    lib.end_preference(preference);
    check_cublas(status, "choosing an algorithm");
    check_cublas(found > 0 ? best.state : CUBLAS_STATUS_NOT_SUPPORTED, "choosing an algorithm");
    algorithm = best.algo;
  }
  ~Prepared() {
    const Library& lib = *library();
    for (cublasLtMatrixLayout_t layout : {left, right, to})
      if (layout) lib.end_layout(layout);
    if (product) lib.end_product(product);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};

class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

cublasLtHandle_t handle_of(int device) {
  static std::map<int, cublasLtHandle_t> all;
  cublasLtHandle_t& handle = all[device];
  if (!handle) check_cublas(library()->create(&handle), "its start");
  return handle;
}

Prepared& prepared(const Matmul& m) {
  using Key =
      std::tuple<int, int, std::int64_t, std::int64_t, std::int64_t, bool, bool, bool, bool, bool>;
  static std::map<Key, std::unique_ptr<Prepared>> all;
  int device = 0;
  cudaGetDevice(&device);
  const Key key{device,        m.splits,       m.rows, m.columns, m.depth,
                m.left_turned, m.right_turned, m.bf16, m.to_bf16, m.bias != nullptr};
  std::unique_ptr<Prepared>& found = all[key];
  if (!found) found = std::make_unique<Prepared>(m, handle_of(device));
  return *found;
}

}  // namespace

bool has_matmul() { return library() != nullptr; }

void run(const Matmul& m) {
  // Its first product loads code, which a strict capture forbids.
  const Relaxed relaxed;
  static std::mutex mutex;  // the prepared products are shared, and the bias is part of them
  const std::lock_guard lock(mutex);
  const Library& lib = *library();
  Prepared& p = prepared(m);
  if (m.bias)
    check_cublas(
        lib.set_product(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &m.bias, sizeof m.bias),
        "a bias");
  const float beta = 0;
  check_cublas(
      lib.matmul(p.handle, p.product, &m.factor, m.right, p.right, m.left, p.left, &beta, m.to,
                 p.to, m.to, p.to, &p.algorithm, m.workspace, matmul_workspace_bytes, m.stream),
      "a matrix product");
}

}  // namespace sweetspot::engine::cuda

#else

namespace sweetspot::engine::cuda {

bool has_matmul() { return false; }
void run(const Matmul&) { throw core::MachineError("this program was built without cuBLASLt"); }

}  // namespace sweetspot::engine::cuda

#endif
