#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <source_location>
#include <string>
#include <vector>

#include "cli/process.h"

namespace sweetspot::tests {

// One sentence on stderr, nothing on stdout, and the exit code. The words are kept in words.txt of
// the caller's folder (words.h).
void expect_sentence(const Finished& finished, int exit_code,
                     std::source_location caller = std::source_location::current());
// Where the words depend on the machine: the sentence names this.
void expect_sentence(const Finished& finished, int exit_code, const std::string& named);
// The last thing that the program said on stderr as itself.
std::string last_sentence(const Finished& finished);

// What --json printed: the one object that is all of stdout.
nlohmann::ordered_json json_of(const Finished& finished);

// MNIST-like IDX files: `count` images of a size for each split, with labels 0 to 9 in turn.
void write_idx_folder(const std::filesystem::path& folder, int count, int height, int width);
void write_file(const std::filesystem::path& file, const std::string& bytes);
std::string read_file(const std::filesystem::path& file);

}  // namespace sweetspot::tests
