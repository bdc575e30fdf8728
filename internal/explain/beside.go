package explain

import "schedlab/internal/record"

// Beside merges a new explanation with the one in the record. For the same two arms, the old
// tests and profiles stay until they run again. keep is false if the old explanation has tests of
// other arms and the new one has no tests: the old one then stays in the record.
func Beside(dir *record.Dir, x *record.Explanation) (both *record.Explanation, keep bool, err error) {
	old, err := dir.Explanation()
	switch {
	case err != nil || old == nil:
		return x, err == nil, err
	case old.From != x.From || old.To != x.To:
		return x, old.Tests == nil || x.Tests != nil, nil
	}
	newer := *x
	if x.Tests == nil && old.Tests != nil {
		newer = *old
		newer.Profiles = x.Profiles
	}
	if newer.Profiles == nil {
		newer.Profiles = old.Profiles
	}
	return &newer, true, nil
}
