// For tests of what might never end.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

namespace panto {

// What does not end ends the program with a message, rather than never.
template <class Body>
void within_a_minute(Body body) {
  std::promise<void> done;
  std::thread watch([finished = done.get_future()] {
    if (finished.wait_for(std::chrono::minutes(1)) == std::future_status::ready) return;
    std::fprintf(stderr, "within_a_minute: no end after a minute\n");
    std::_Exit(3);
  });
  body();
  done.set_value();
  watch.join();
}

}  // namespace panto
