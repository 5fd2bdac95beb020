// What the session needs of a C++ interpreter. Engines are shared libraries opened at run time: neither libpanto nor
// the command links LLVM.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace panto::repl {

// How every engine compiles.
inline constexpr const char* kCompilerFlags[] = {
    "-std=c++20", "-O2", "-w",
    // An integer divided by zero is a trap that guard.cc knows, on
    // every processor and however much is folded.
    "-fsanitize=integer-divide-by-zero", "-fsanitize-trap=integer-divide-by-zero", "-fno-finite-loops",
    "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-caret-diagnostics"};

struct EngineOptions {
  std::vector<std::string> include_folders;
  // A file that the engine's own PrecompileHeader wrote: it starts as if the header had been included. Or empty.
  std::string precompiled;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // "cling 6.32.8, LLVM 16"
  virtual std::string version() const = 0;
  // Compiles code as it would stand in a file after all that was declared so far, and runs the initializers of its
  // variables. What the compiler has to say goes to standard error. False: there were errors; the engine may then be
  // unfit for further use, so an input is tried in a child process first. Exceptions of initializers pass through. Code
  // that runs once is compiled faster without optimization.
  virtual bool declare(const std::string& code, bool optimize) = 0;
  // What can stand at the end of the code: names, each once. The engine may be unfit for further use afterwards.
  virtual std::vector<std::string> complete(const std::string& code) = 0;
};

// What an engine's library exports under the names beside. Throws panto::Error where it cannot be started.
using MakeEngine = Engine*(const EngineOptions&);
inline constexpr const char* kMakeEngine = "panto_repl_engine";

// Compiles `header`, a file, into `output` for an engine with these options, and writes the names of all files that
// were read into `dependencies`, as make rules. May end the process, or leave it unfit: to be called in a child.
// False: there were errors, which standard error tells.
using PrecompileHeader = bool(const EngineOptions&, const std::string& header, const std::string& output,
                              const std::string& dependencies);
inline constexpr const char* kPrecompileHeader = "panto_repl_precompile";

}  // namespace panto::repl
