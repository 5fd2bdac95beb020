// Standard headers that the session has not read yet.
#include <thread>
int sum_of = 0;
std::thread worker([] { sum_of = 40 + 2; }); worker.join();
sum_of
#include <semaphore>
std::counting_semaphore<4> gate(1);
gate.try_acquire()
#include <mutex>
#include <climits>
PATH_MAX > 255
#include <algorithm>
#include <chrono>
#include <random>
#include <regex>
#include <filesystem>
std::filesystem::path("/a/b").filename().string()
#include <iomanip>
#include <queue>
#include <ranges>
#include <bitset>
std::bitset<8>(5).count()
#include <latch>
#include <barrier>
#include <condition_variable>
#include <shared_mutex>
#include <stop_token>
