#pragma once
#include <string>

#include "advise/advise.h"

// Phrases shared by the sentence of a recommendation and its reasons.
namespace sweetspot::advise::phrases {

std::string size(std::int64_t value);  // "1,024"
std::string speed(double value);       // "5,230 samples/s"
std::string percent(double share);
std::string workers_word(int workers);  // "4 loader workers"
// " (and 210 MiB to grow)", if that is significant.
std::string growth_words(const Recommendation& made);
// "18% less than the fastest (batch 1,024 at 700 W), 6% slower"; empty if it is the fastest.
std::string against_fastest(const Recommendation& made);

bool has_searched_workers(const Recommendation& made);
bool has_other_loader(const Recommendation& made);
double gain(const LoaderCheck& check);  // in speed, as a share

}  // namespace sweetspot::advise::phrases
