package record

// Sentences and Weighty are shown to tests that link the rooms with the sentences.
var (
	Sentences = sentences
	Weighty   = byWeight
)
