#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/process.h"

namespace sweetspot::tests {

// One sentence on stderr, nothing on stdout, and the exit code.
void expect_sentence(const Finished& finished, int exit_code, const std::string& part);

// What --json printed: the one object that is all of stdout.
nlohmann::ordered_json json_of(const Finished& finished);

// MNIST-like IDX files: `count` images of a size for each split, with labels 0 to 9 in turn.
void write_idx_folder(const std::filesystem::path& folder, int count, int height, int width);
void write_file(const std::filesystem::path& file, const std::string& bytes);
std::string read_file(const std::filesystem::path& file);

}  // namespace sweetspot::tests
