#include "panto/device/cuda/rtc/compile.h"

#include <nvrtc.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"

namespace panto::cuda {
namespace {

void check_nvrtc(nvrtcResult result) {
  if (result == NVRTC_SUCCESS) [[likely]]
    return;
  failf(result == NVRTC_ERROR_OUT_OF_MEMORY ? Code::kResourceExhausted : Code::kInternal,
        "compiling a kernel: expected NVRTC to do it, got '{}'", nvrtcGetErrorString(result));
}

class Compilation {
 public:
  explicit Compilation(const std::string& source) {
    std::vector<const char*> texts, names;
    for (const Header& h : headers()) {
      texts.push_back(h.text);
      names.push_back(h.name);
    }
    check_nvrtc(nvrtcCreateProgram(&program_, source.c_str(), "program.cu", static_cast<int>(names.size()),
                                   texts.data(), names.data()));
  }
  ~Compilation() { nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::string run(int architecture) {
    const int known = known_architecture(architecture);
    const bool is_code = known == architecture;
    const std::string target = fmt::format("--gpu-architecture={}_{}", is_code ? "sm" : "compute", known);
    // The options of the separate kernels (device/cuda/meson.build), so that results are bit-identical.
    const char* const options[] = {target.c_str(), "--std=c++20", "--fmad=false", "--device-as-default-execution-space",
                                   "--disable-warnings"};
    const nvrtcResult result = nvrtcCompileProgram(program_, std::size(options), options);
    if (result == NVRTC_ERROR_COMPILATION) failf(Code::kInternal, "compiling a kernel: {}", log());
    check_nvrtc(result);
    size_t size = 0;
    check_nvrtc(is_code ? nvrtcGetCUBINSize(program_, &size) : nvrtcGetPTXSize(program_, &size));
    std::string code(size, '\0');
    check_nvrtc(is_code ? nvrtcGetCUBIN(program_, code.data()) : nvrtcGetPTX(program_, code.data()));
    return code;
  }

 private:
  // Returns the newest architecture that NVRTC knows and that this GPU can run.
  static int known_architecture(int architecture) {
    int count = 0;
    check_nvrtc(nvrtcGetNumSupportedArchs(&count));
    std::vector<int> all(static_cast<size_t>(count));
    check_nvrtc(nvrtcGetSupportedArchs(all.data()));
    int newest = 0;
    for (const int known : all) newest = known <= architecture ? std::max(newest, known) : newest;
    if (newest == 0) {
      failf(Code::kUnimplemented, "compiling a kernel: expected a GPU that NVRTC knows, got compute capability {}.{}",
            architecture / 10, architecture % 10);
    }
    return newest;
  }

  std::string log() const {
    size_t size = 0;
    if (nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size == 0) return "no message";
    std::string text(size, '\0');
    if (nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return "no message";
    text.resize(size - 1);
    return text;
  }

  nvrtcProgram program_ = nullptr;
};

// Loads the kernel `name` of the code on the current device. Returns null if there is no memory for it.
cudaKernel_t loaded(const std::string& code, const char* name) {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  cudaFuncAttributes attributes{};
  cudaError_t result = cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == cudaSuccess) result = cudaLibraryGetKernel(&kernel, library, name);
  // Asking for the attributes loads the kernel now; otherwise it would be loaded at its first launch.
  if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  if (result == cudaSuccess) return kernel;
  if (library != nullptr) static_cast<void>(cudaLibraryUnload(library));
  if (result != cudaErrorMemoryAllocation) check(result, "loading a kernel");
  static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
  return nullptr;
}

// The same; if there is no memory, releases the device's cached memory and tries again.
cudaKernel_t load(CudaDevice& device, const std::string& code, const char* name) {
  if (cudaKernel_t kernel = loaded(code, name)) return kernel;
  device.trim();
  cudaKernel_t kernel = loaded(code, name);
  if (kernel == nullptr) {
    failf(Code::kResourceExhausted, "memory: expected room for a kernel on {}, got none", device.name());
  }
  return kernel;
}

}  // namespace

std::string compile(const std::string& source, int architecture) { return Compilation(source).run(architecture); }

cudaKernel_t compiled_kernel(CudaDevice& device, const std::string& source, const char* name) {
  struct Known {
    std::mutex mutex;
    std::map<std::pair<int, std::string>, cudaKernel_t> kernels;  // by architecture and source
  };
  static auto* known = new Known;  // leaked on purpose: the driver may be gone before static objects are
  const std::lock_guard lock(known->mutex);
  const auto [found, is_new] = known->kernels.try_emplace({device.architecture(), source}, nullptr);
  if (is_new) {
    try {
      const std::string code = compile(source, device.architecture());
      found->second = load(device, code, name);
    } catch (...) {
      known->kernels.erase(found);
      throw;
    }
  }
  return found->second;
}

}  // namespace panto::cuda
