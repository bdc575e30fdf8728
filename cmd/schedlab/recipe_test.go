package main

import (
	"testing"

	"schedlab/internal/model"
	"schedlab/loadtests/recipes"
)

// Every mode has a recipe or a sentence that says what to use instead, and not both.
func TestEveryModeHasARecipeOrAnInstead(t *testing.T) {
	t.Parallel()
	for _, m := range model.Modes() {
		_, recipe := recipes.Of(m.Name)
		if sentence := recipes.Instead[m.Name]; recipe != (sentence == "") {
			t.Errorf("%s: recipe %v, instead %q", m.Name, recipe, sentence)
		}
	}
	for name := range recipes.Instead {
		if _, err := model.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}
