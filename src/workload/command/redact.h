#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/options.h"

namespace sweetspot::workload::command {

// Whether this is the name of a secret: "--api-key", "WANDB_API_KEY", "db.password". A last word
// "key" or "token" is one, except for a tokenizer's ("--pad-token").
bool is_secret_name(std::string_view name);

// The same with "[redacted]" in place of each secret value: of secret names ("--token X",
// "--token=X", "TOKEN=X" anywhere, "Bearer X"), and of users in URLs (user:password@host). Numbers
// are not secrets: "--max-token 512" is a size.
std::vector<std::string> redacted(const std::vector<std::string>& argv);
std::string redacted(std::string_view text);
Environment redacted(Environment environment);

// The known secret values: those of the options and of our own environment, which the program may
// print.
class Secrets {
 public:
  explicit Secrets(const Options& options);
  std::string redact(std::string text) const;

 private:
  std::vector<std::string> values_;  // the longest first: one may be part of another
};

}  // namespace sweetspot::workload::command
