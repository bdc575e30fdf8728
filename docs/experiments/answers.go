// Package experiments embeds the verdicts of the pack, which 'schedlab choose' answers from.
package experiments

import _ "embed" // for Answers

// Answers is the verdicts of every experiment that was measured as its scenario stands today,
// a line each; tools/experiments writes it.
//
//go:embed answers.tsv
var Answers string
