// The interface of a C++ interpreter to the session. Engines are shared libraries opened at run time, so neither
// libpanto nor the command links LLVM.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace panto::repl {

// The compiler flags of every engine.
inline constexpr const char* kCompilerFlags[] = {
    "-std=c++20", "-O2", "-w",
    // Integer division by zero becomes a trap that guard.cc knows, on every processor and despite constant folding.
    "-fsanitize=integer-divide-by-zero", "-fsanitize-trap=integer-divide-by-zero", "-fno-finite-loops",
    "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-caret-diagnostics"};

struct EngineOptions {
  std::vector<std::string> include_folders;
  // A file written by the engine's own PrecompileHeader, to start as if the header had been included. Or empty.
  std::string precompiled;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // For example "cling 6.32.8, LLVM 16".
  virtual std::string version() const = 0;
  // Compiles code as the continuation of a file with all previous declarations, and runs the initializers of its
  // variables. Diagnostics go to standard error. Returns false on errors; the engine may then be unusable, so an input
  // is tried in a child process first. Exceptions of initializers pass through. `optimize` = false compiles faster, for
  // code that runs once.
  virtual bool declare(const std::string& code, bool optimize) = 0;
  // Returns completions for the end of the code, without duplicates. The engine may be unusable afterwards.
  virtual std::vector<std::string> complete(const std::string& code) = 0;
};

// The functions that an engine's library exports, with their symbols. MakeEngine throws panto::Error if the engine
// cannot be started.
using MakeEngine = Engine*(const EngineOptions&);
inline constexpr const char* kMakeEngine = "panto_repl_engine";

// Compiles the file `header` to `output` for an engine with these options, and writes the names of all files read to
// `dependencies`, as make rules. Call it in a child process, as it may end the process or leave it unusable. Returns
// false on errors, which go to standard error.
using PrecompileHeader = bool(const EngineOptions&, const std::string& header, const std::string& output,
                              const std::string& dependencies);
inline constexpr const char* kPrecompileHeader = "panto_repl_precompile";

}  // namespace panto::repl
