// Opens the CUDA back-end, which is a library of its own, when somebody asks for devices and there is a GPU's driver.
// So one libpanto serves machines with and without a GPU, and starting up costs nothing. This file is part of libpanto.
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

// The folder that libpanto was loaded from.
std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string_view file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : file.substr(0, slash));
}

// Where a driver can be seen: on Linux, in WSL2, on Jetson boards.
bool has_gpu_driver() {
  const auto exists = [](const char* path) { return access(path, F_OK) == 0; };
  return exists("/dev/nvidiactl") || exists("/proc/driver/nvidia") || exists("/dev/nvhost-ctrl-gpu") ||
         (exists("/dev/dxg") && exists("/usr/lib/wsl/lib/libcuda.so.1"));
}

// Installed, beside libpanto; in a build folder, where Meson puts it. Empty: there is none.
std::string cuda_library() {
  const std::string folder = library_folder();
  for (std::string path : {folder + "/libpanto_cuda.so", folder + "/device/cuda/libpanto_cuda.so"}) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

// Why there are no GPUs. What the user did not ask for is logged, too.
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

// Known before the library is opened: graphs are placed on GPUs of other machines, too.
const DeviceKindEntry gpu_kind(
    {.name = "GPU", .priority = 100, .most_fused_inputs = cuda::kMostFusedInputs, .fuses_complex = false});
const BackendStarter cuda_backend("GPU", open_cuda);

}  // namespace
}  // namespace panto
