"""What the site is made of beside its pages: generated reference, figures, formulas, mathematics as MathML."""
