#include "panto/device/cuda/rtc/compile.h"

#include <nvrtc.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "panto/lib/base/format.h"

namespace panto::cuda {
namespace {

void check(nvrtcResult result) {
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
    check(nvrtcCreateProgram(&program_, source.c_str(), "program.cu", static_cast<int>(names.size()), texts.data(),
                             names.data()));
  }
  ~Compilation() { nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::string run(int architecture) {
    const std::string target = fmt::format("--gpu-architecture=sm_{}", architecture);
    // As the separate kernels are compiled (device/cuda/meson.build): results are the same bits.
    const char* const options[] = {target.c_str(), "--std=c++20", "--fmad=false",
                                   "--device-as-default-execution-space"};
    const nvrtcResult result = nvrtcCompileProgram(program_, std::size(options), options);
    if (result == NVRTC_ERROR_COMPILATION) failf(Code::kInternal, "compiling a kernel: {}", log());
    check(result);
    size_t size = 0;
    check(nvrtcGetCUBINSize(program_, &size));
    std::string code(size, '\0');
    check(nvrtcGetCUBIN(program_, code.data()));
    return code;
  }

 private:
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

}  // namespace

std::string compile(const std::string& source, int architecture) { return Compilation(source).run(architecture); }

cudaKernel_t compiled_kernel(const CudaDevice& device, const std::string& source, const char* name) {
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
      cudaLibrary_t library = nullptr;
      check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "loading a kernel");
      check(cudaLibraryGetKernel(&found->second, library, name), "loading a kernel");
    } catch (...) {
      known->kernels.erase(found);
      throw;
    }
  }
  return found->second;
}

}  // namespace panto::cuda
