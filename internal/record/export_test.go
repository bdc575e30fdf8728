package record

// SearchedArm is shown to the test of the schemas.
type SearchedArm = searchedArm
