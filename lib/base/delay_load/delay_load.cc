#include "panto/lib/base/delay_load/delay_load.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"

// One entry for each function number: the address that the stub jumps to.
extern "C" void* panto_delay_load_places[];

namespace panto {
namespace {

struct Configurations {
  std::mutex mutex;
  std::vector<std::pair<std::string_view, void (*)(void*)>> waiting;  // keyed by the beginning of the soname
};
Configurations& configurations() {
  static auto* all = new Configurations;  // leaked on purpose: libraries are used until the process ends
  return *all;
}

// Loads the library and runs its waiting configurations. Returns null if it cannot be loaded.
void* load(const char* soname) {
  Configurations& all = configurations();
  const std::lock_guard lock(all.mutex);
  void* const library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);  // kept for good
  if (library == nullptr) return nullptr;
  std::erase_if(all.waiting, [&](const auto& entry) {
    if (!std::string_view(soname).starts_with(entry.first)) return false;
    entry.second(library);
    return true;
  });
  return library;
}

}  // namespace

void configure_library(std::string_view name, void (*configure)(void* library)) {
  for (size_t i = 0; i < num_delay_loaded; ++i) {
    const char* const soname = delay_loaded[i].library;
    if (!std::string_view(soname).starts_with(name)) continue;
    if (void* const library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD)) return configure(library);
    break;
  }
  Configurations& all = configurations();
  const std::lock_guard lock(all.mutex);
  all.waiting.emplace_back(name, configure);
}

}  // namespace panto

extern "C" void* panto_delay_load(uint64_t number) {
  const panto::DelayLoaded& wanted = panto::delay_loaded[number];
  void* const library = panto::load(wanted.library);
  void* const function = library == nullptr ? nullptr : dlsym(library, wanted.function);
  if (function == nullptr) {
    panto::failf(panto::Code::kNotFound, "{}: expected a library with the function {}, got: {}", wanted.library,
                 wanted.function, dlerror());
  }
  std::atomic_ref(panto_delay_load_places[number]).store(function, std::memory_order_release);
  return function;
}
