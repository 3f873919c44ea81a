"""The paper's rows as recipes: frozen, typed, named."""
