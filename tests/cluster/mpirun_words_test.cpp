#include "cluster/mpi/local_ranks.h"

#include <gtest/gtest.h>

#include <sstream>

namespace sweetspot::cluster::mpi {
namespace {

const std::string rule(74, '-');

// The text that is left for the user; `words` collects the rest.
std::string left(MpirunWords& words, const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);)
    if (const auto of_ranks = words.line(line)) all += *of_ranks + "\n";
  return all;
}

TEST(MpirunWords, ARankThatWasKilledIsNamed) {
  MpirunWords words;
  EXPECT_EQ(
      left(words, "epoch 1\n" + rule +
                      "\nPrimary job  terminated normally, but 1 process returned\n"
                      "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
                      rule + "\n" + rule +
                      "\nmpirun noticed that process rank 3 with PID 0 on node vm exited on "
                      "signal 9 (Killed).\n" +
                      rule + "\nbye\n"),
      "epoch 1\nbye\n");
  ASSERT_TRUE(words.lost());
  EXPECT_EQ(words.lost()->rank, 3);
  EXPECT_EQ(words.lost()->signal, 9);
  EXPECT_EQ(words.complaint(), "");
}

TEST(MpirunWords, WhatARankSaidItselfIsNotRepeated) {
  MpirunWords words;
  EXPECT_EQ(left(words, "sweetspot: rank 1: no memory\n" + rule +
                            "\nMPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
                            "with errorcode 2.\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill "
                            "all MPI processes.\n" +
                            rule + "\n"),
            "sweetspot: rank 1: no memory\n");
  EXPECT_FALSE(words.lost());
  EXPECT_EQ(words.complaint(), "");
}

TEST(MpirunWords, AnythingElseIsAComplaintInOneLine) {
  MpirunWords words;
  EXPECT_EQ(left(words, rule +
                            "\nmpirun was unable to launch the specified application:\n\n"
                            "Executable: /nonexistent\n" +
                            rule + "\n"),
            "");
  EXPECT_EQ(words.complaint(),
            "mpirun was unable to launch the specified application: Executable: /nonexistent");
}

TEST(MpirunWords, RulesOfOthersAreTheirs) {
  MpirunWords words;
  EXPECT_EQ(left(words, "|---:|---:|\n-----\n"), "|---:|---:|\n-----\n");
}

}  // namespace
}  // namespace sweetspot::cluster::mpi
