// Libraries that are loaded when one of their functions is first called: oneDNN, OpenBLAS, ICU, the codecs. Internal.
//
// To call such a function, add its name to functions.txt. tools/delay_load.py writes a stub of that name, and
// libpanto.so is linked with the stub instead of the library. If the library is missing, the call throws NotFound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace panto {

struct DelayLoaded {
  const char* library;  // its soname, as for dlopen
  const char* function;
};
// Indexed by function number, in the order of functions.txt.
extern const DelayLoaded delay_loaded[];
extern const size_t num_delay_loaded;

// Calls `configure` once with the dlopen handle of the library whose soname begins with `name`: at once if the process
// has loaded the library already, otherwise when it is loaded here, before any of its functions is called. `configure`
// must call none of these functions by name. Must be called while libpanto.so itself is being loaded.
void configure_library(std::string_view name, void (*configure)(void* library));

}  // namespace panto

// For stubs: returns the address of function `number`, and stores it where the stub finds it next time. Throws NotFound
// if the library or the function is missing.
extern "C" void* panto_delay_load(uint64_t number);
