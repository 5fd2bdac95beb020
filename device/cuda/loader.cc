// Opens the CUDA back-end, a separate library, when devices are first asked for and a GPU driver is present. So one
// libpanto serves machines with and without a GPU, and start-up costs nothing. This file is part of libpanto.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "panto/device/cuda/fused/fused_launches.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/tensor/device.h"

namespace panto {
namespace {

// Returns the folder from which libpanto was loaded.
std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string_view file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : file.substr(0, slash));
}

// Looks for the driver's files on Linux, in WSL2 and on Jetson boards.
bool has_gpu_driver() {
  const auto exists = [](const char* path) { return access(path, F_OK) == 0; };
  return exists("/dev/nvidiactl") || exists("/proc/driver/nvidia") || exists("/dev/nvhost-ctrl-gpu") ||
         (exists("/dev/dxg") && exists("/usr/lib/wsl/lib/libcuda.so.1"));
}

// Returns the library's path: beside libpanto if installed, else where Meson puts it in a build folder. Empty if there
// is none.
std::string cuda_library() {
  const std::string folder = library_folder();
  for (std::string path : {folder + "/libpanto_cuda.so", folder + "/device/cuda/libpanto_cuda.so"}) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

// Opens the back-end. Returns why there are no GPUs; unexpected reasons are logged too.
std::string open_cuda() {
  const char* wanted = std::getenv("PANTO_CUDA");  // NOLINT(concurrency-mt-unsafe): read once
  if (wanted != nullptr && std::string_view(wanted) == "off") return "PANTO_CUDA=off";
  if (!has_gpu_driver()) return "there is no NVIDIA driver";
  const std::string path = cuda_library();
  if (path.empty()) return "libpanto_cuda.so is not beside libpanto, which was built without CUDA";
  try {
    load_library(path);
  } catch (const std::exception& error) {
    log_warn(fmt::format("GPU devices are not available: {}", error.what()));
    return error.what();
  }
  return "the NVIDIA driver has none that can be used";
}

// Registered before the library is opened, because graphs may be placed on GPUs of other machines.
const DeviceKindEntry gpu_kind(
    {.name = "GPU", .priority = 100, .most_fused_inputs = cuda::kMostFusedInputs, .fuses_complex = false});
const BackendStarter cuda_backend("GPU", open_cuda);

}  // namespace
}  // namespace panto
