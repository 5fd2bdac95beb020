#include "panto/apps/repl/session/guard.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <typeinfo>

#include "panto/apps/repl/session/probe.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/file.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/trace/describe.h"
#include "panto/trace/value_text.h"

namespace panto::repl {
namespace {

// All of these are read in signal handlers.
volatile sig_atomic_t running = 0;      // an input is running
volatile sig_atomic_t interrupted = 0;  // number of Ctrl-C since it started
volatile sig_atomic_t pending = 0;      // a Ctrl-C that take_interrupt has not returned yet
sigjmp_buf leave;
timer_t timer;
bool has_timer = false;
std::vector<std::string> arguments;
std::vector<char*> argv;          // `arguments`, with room for the reason
void* volatile bottom = nullptr;  // the frame that calls inputs

// Why sigsetjmp returns again.
constexpr int kStopped = 1, kDivided = 2;
constexpr long kFirst = 300'000'000, kAgain = 200'000'000;  // ns until code that calls no ops is interrupted

void arm(long nanoseconds) {
  itimerspec when{};
  when.it_value.tv_nsec = nanoseconds;
  ::timer_settime(timer, 0, &when, nullptr);
}

bool in_compiled_input(void* pc) {
  Dl_info info;
  return ::dladdr(pc, &info) == 0;
}

struct Registers {
  uintptr_t pc, stack, frame;
};

// Returns the registers of the interrupted code; nullopt for an unknown processor.
std::optional<Registers> registers(const ucontext_t& context) {
  [[maybe_unused]] const mcontext_t& machine = context.uc_mcontext;
#if defined(__x86_64__)
  const auto value = [&](int number) { return static_cast<uintptr_t>(machine.gregs[number]); };
  return Registers{value(REG_RIP), value(REG_RSP), value(REG_RBP)};
#elif defined(__aarch64__)
  constexpr int kFrame = 29;  // in AAPCS64, whose frame record has the same order as x86's
  return Registers{machine.pc, machine.sp, machine.regs[kFrame]};
#else
  return std::nullopt;
#endif
}

// Returns true if all frames between the interrupted one and the caller of inputs belong to compiled inputs: then no
// library holds a lock or has half-changed state. Inputs are compiled with frame pointers.
// NOLINTBEGIN(performance-no-int-to-ptr): registers and the stack hold addresses as integers
bool can_leave(const ucontext_t& context) {
  if (in_generated_code()) return false;
  const std::optional<Registers> now = registers(context);
  if (!now || !in_compiled_input(reinterpret_cast<void*>(now->pc))) return false;
  const auto stop = reinterpret_cast<uintptr_t>(bottom);
  uintptr_t lowest = now->stack;
  for (uintptr_t frame = now->frame; frame != stop;) {
    if (frame < lowest || frame >= stop || frame % sizeof(uintptr_t) != 0) return false;
    const auto* slots = reinterpret_cast<const uintptr_t*>(frame);  // the caller's frame and the return address
    if (slots[0] != stop && !in_compiled_input(reinterpret_cast<void*>(slots[1]))) return false;
    lowest = frame + 1;
    frame = slots[0];
  }
  return true;
}
// NOLINTEND(performance-no-int-to-ptr)

// Returns true if the signal is the compiler's trap for a division by zero (engine/engine.h) or the processor's own.
// `ubsan` numbers its traps; 3 is division.
bool division_by_zero(int number, const ucontext_t& context) {
  if (number == SIGFPE) return true;
  const std::optional<Registers> now = registers(context);
  if (!now || !in_compiled_input(reinterpret_cast<void*>(now->pc))) return false;  // NOLINT(performance-no-int-to-ptr)
  const auto* code = reinterpret_cast<const unsigned char*>(now->pc);              // NOLINT(performance-no-int-to-ptr)
#if defined(__x86_64__)
  constexpr unsigned char kTrap[] = {0x67, 0x0f, 0xb9, 0x40, 0x03};  // ud1l 3(%eax), %eax
  return number == SIGILL && std::memcmp(code, kTrap, sizeof kTrap) == 0;
#elif defined(__aarch64__)
  uint32_t instruction = 0;
  std::memcpy(&instruction, code, sizeof instruction);
  constexpr uint32_t kTrap = 0xd4200000u | (0x5503u << 5);  // brk #0x5503
  return number == SIGTRAP && instruction == kTrap;
#else
  return false;
#endif
}

[[noreturn]] void start_anew(const char* why) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  give_back_output();
  argv[argv.size() - 2] = const_cast<char*>(why);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(1);
}

void on_interrupt(int, siginfo_t*, void*) {
  pending = 1;
  if (running == 0) return;
  interrupted = interrupted + 1;
  request_cancel();
  // Three Ctrl-C restart the session by force.
  if (interrupted >= 3) start_anew("stopped by force");
  if (has_timer) arm(kFirst);
}

void on_timer(int, siginfo_t*, void* context) {
  if (running == 0 || interrupted == 0) return;
  if (can_leave(*static_cast<ucontext_t*>(context))) ::siglongjmp(leave, kStopped);
  request_cancel();
  arm(kAgain);
}

void on_fatal(int number, siginfo_t*, void* context) {
  const char* why = "a fatal signal";
  const auto& at = *static_cast<ucontext_t*>(context);
  if (division_by_zero(number, at)) {
    if (running != 0 && can_leave(at)) ::siglongjmp(leave, kDivided);
    start_anew("division by zero");
  }
  switch (number) {
    case SIGSEGV: why = "segmentation fault"; break;
    case SIGBUS: why = "bus error"; break;
    case SIGILL: why = "illegal instruction, as where a function that returns a value ends without return"; break;
    case SIGABRT: why = "abort"; break;
    default: break;
  }
  start_anew(why);
}

// Handlers run on their own stack. They then work after a stack overflow too, and while code generated by oneDNN has
// the stack pointer in the heap, where a handler's frame would overwrite data.
void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

std::string foreign_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  return "exception of type " + (type != nullptr ? type_name(*type) : std::string("unknown"));
}

[[gnu::noinline]] RunResult call(void (*run)()) {
  bottom = __builtin_frame_address(0);
  RunResult result;
  try {
    run();
    return result;
  } catch (const Error& error) {
    result.outcome = error.code() == Code::kCancelled && interrupted > 0 ? RunResult::Outcome::kInterrupted
                                                                         : RunResult::Outcome::kThrew;
    result.message = error.what();
  } catch (const std::exception& error) {
    result.outcome = RunResult::Outcome::kThrew;
    result.message = describe(error);
  } catch (...) {
    result.outcome = RunResult::Outcome::kThrew;
    result.message = foreign_exception();
  }
  return result;
}

}  // namespace

RunResult run_guarded(void (*run)()) {
  const ScopeMark scopes;
  RunResult result;
  interrupted = 0;
  // Volatile, because it is read after the jump.
  const volatile int why = sigsetjmp(leave, 1);
  if (why == 0) {
    running = 1;
    result = call(run);
    running = 0;
  } else {
    running = 0;
    scopes.restore();
    result.outcome = why == kDivided ? RunResult::Outcome::kThrew : RunResult::Outcome::kInterrupted;
    if (why == kDivided)
      result.message = "error: division by zero: expected a divisor other than 0 of an integer, got 0";
  }
  if (has_timer) arm(0);
  clear_cancel();
  pending = 0;
  flush_output();
  return result;
}

namespace {

int interrupt_signal() { return SIGRTMIN + 6; }
int timer_signal() { return SIGRTMIN + 5; }

// A thread that only waits for Ctrl-C forwards it to the main thread; in any other thread a handler might do harm.
void forward_interrupts() {
  static const pthread_t main_thread = ::pthread_self();
  ::signal(SIGINT, SIG_DFL);  // sigwait does not see ignored signals
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  std::thread([interrupt] {
    while (true) {
      int number = 0;
      if (::sigwait(&interrupt, &number) == 0) ::pthread_kill(main_thread, interrupt_signal());
    }
  }).detach();
}

void make_timer() {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = timer_signal();
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
  has_timer = ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

}  // namespace

void install_guard(const std::vector<std::string>& restart) {
  arguments = restart;
  argv.clear();
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);  // the reason
  argv.push_back(nullptr);
  constexpr size_t kBytes = size_t{256} << 10;
  static char* const memory = new char[kBytes];
  stack_t other{};
  other.ss_sp = memory;
  other.ss_size = kBytes;
  ::sigaltstack(&other, nullptr);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) handle(s, on_fatal, SA_NODEFER);
  handle(timer_signal(), on_timer, SA_RESTART);
  handle(interrupt_signal(), on_interrupt, SA_RESTART);
  make_timer();
  forward_interrupts();
}

void restart(const std::string& why) {
  flush_output();
  start_anew(why.c_str());
}

bool take_interrupt() {
  const bool came = pending != 0;
  pending = 0;
  return came;
}

}  // namespace panto::repl
