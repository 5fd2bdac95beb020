// NVRTC, and the loading of its programs, for the GPU that the CPU emulates: a program is compiled for the host
// (EMULATED_COMPILER, from meson.build), which takes a second, and loaded as a shared library.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "panto/tests/device/cuda/emulation/grid.h"
#include "panto/tests/device/cuda/pretend_cuda.h"

// What stands behind NVRTC's and CUDA's handles.
struct _nvrtcProgram {
  std::string source, code, log;
};

namespace {

// What a program that fuses ops (device/cuda/fused/fused_source.h) is called by: its kernel, with copies of the
// arguments, since a launch may be kept for later.
constexpr const char* kEntry = R"(
#include <functional>
#include <tuple>
namespace {
template <class... P, size_t... I>
std::function<void()>* with_arguments(void (*kernel)(P...), void** given, std::index_sequence<I...>) {
  return new std::function<void()>([kernel, all = std::tuple<P...>(*static_cast<P*>(given[I])...)] {
    kernel(std::get<I>(all)...);
  });
}
template <class... P>
std::function<void()>* with_arguments(void (*kernel)(P...), void** given) {
  return with_arguments(kernel, given, std::index_sequence_for<P...>{});
}
}
extern "C" [[gnu::visibility("default")]] std::function<void()>* emulated_kernel(void** given) {
  return with_arguments(fused, given);
}
)";

using Maker = std::function<void()>* (*)(void**);

const std::filesystem::path& folder() {
  static const auto* own = [] {
    std::string name = std::filesystem::temp_directory_path() / "emulated-gpu-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return new std::filesystem::path(name);
  }();
  return *own;
}

}  // namespace

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* /*name*/, int /*headers*/,
                               const char* const* /*texts*/, const char* const* /*names*/) {
  *program = new _nvrtcProgram{.source = source, .code = {}, .log = {}};
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int /*count*/, const char* const* /*options*/) {
  static int made = 0;
  const std::string name = folder() / std::to_string(made++);
  std::ofstream(name + ".cc") << program->source << kEntry;
  // It finds the running thread's position in this library.
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&folder), &own);
  const std::string command =
      EMULATED_COMPILER " -o " + name + ".so " + name + ".cc " + own.dli_fname + " >" + name + ".log 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(name + ".log");
    program->log.assign(std::istreambuf_iterator<char>(log), {});
    return NVRTC_ERROR_COMPILATION;
  }
  program->code = name + ".so";
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  *size = program->code.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  std::memcpy(code, program->code.c_str(), program->code.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) { return nvrtcGetCUBINSize(program, size); }
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) { return nvrtcGetCUBIN(program, code); }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* all) {
  all[0] = 90;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult /*result*/) { return "emulated error"; }

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* /*options*/, void** /*values*/,
                                unsigned /*count*/, cudaLibraryOption* /*options*/, void** /*values*/,
                                unsigned /*count*/) {
  *library = static_cast<cudaLibrary_t>(dlopen(static_cast<const char*>(code), RTLD_NOW | RTLD_LOCAL));
  return *library != nullptr ? cudaSuccess : cudaErrorInvalidKernelImage;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  dlclose(library);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* /*name*/) {
  *kernel = static_cast<cudaKernel_t>(dlsym(library, "emulated_kernel"));
  return *kernel != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* /*attributes*/, const void* /*function*/) { return cudaSuccess; }
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments, size_t /*bytes*/,
                             cudaStream_t stream) {
  const std::shared_ptr<std::function<void()>> thread(reinterpret_cast<Maker>(const_cast<void*>(kernel))(arguments));
  panto::test::launch(stream, [=] { panto::emulation::run_grid(blocks, threads, *thread); });
  return cudaSuccess;
}
