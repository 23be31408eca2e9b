// Stands in for libFuzzer where there is no clang: every file of the corpus, then random changes of them, the
// same for every run. usage: target [-max_total_time=SECONDS] FOLDER...
#include <chrono>      // for steady_clock
#include <cstdio>      // for printf
#include <cstdlib>     // for atoi
#include <filesystem>  // for directory_iterator
#include <fstream>     // for ifstream
#include <iterator>    // for istreambuf_iterator
#include <random>      // for mt19937
#include <string>      // for string
#include <vector>      // for vector

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

constexpr std::size_t kLongest = 4096;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(input.data()), input.size());
}

std::string changed(std::string text, std::mt19937& random) {
  for (unsigned left = 1 + random() % 8; left > 0; --left) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 4) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.insert(at, 1 + random() % 16, static_cast<char>(random()));
        break;
      case 2:
        text.erase(at, random() % 16);
        break;
      default:
        text += text.substr(at, random() % 64);
    }
  }
  text.resize(std::min(text.size(), kLongest));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  int seconds = 5;
  std::vector<std::string> corpus{""};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("-max_total_time=", 0) == 0) seconds = std::atoi(word.c_str() + 16);
    if (word.rfind('-', 0) == 0) continue;
    for (const auto& file : std::filesystem::directory_iterator(word)) {
      std::ifstream stream(file.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
  }
  for (const auto& input : corpus) run(input);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::mt19937 random(7);
  unsigned long runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs)
    run(changed(corpus[random() % corpus.size()], random));
  std::printf("%lu inputs from %zu of the corpus\n", runs, corpus.size());
  return 0;
}
