// Libraries that are loaded when one of their functions is first called: oneDNN, OpenBLAS, ICU, the codecs. Internal.
//
// Nothing is to be done to call such a function but to name it in functions.txt: tools/delay_load.py writes a stub of
// its name, which libpanto.so is linked with instead of the library. Where the library is not there the call throws
// NotFound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace panto {

struct DelayLoaded {
  const char* library;  // its soname, as for dlopen
  const char* function;
};
// By number, in the order of functions.txt.
extern const DelayLoaded delay_loaded[];
extern const size_t num_delay_loaded;

// Calls `configure` once with the library (of dlopen) whose soname begins with `name`: at once where the process has
// it already, else when it is loaded here, before any of its functions is called. `configure` must call none of them by
// name. To be called while libpanto.so itself is loaded.
void configure_library(std::string_view name, void (*configure)(void* library));

}  // namespace panto

// For stubs: where function `number` is. They find it there themselves afterwards. Throws NotFound where there is no
// such library, or it has no such function.
extern "C" void* panto_delay_load(uint64_t number);
