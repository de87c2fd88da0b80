"""The parts of the site beside its pages: generated reference, figures, formulas, mathematics as MathML."""
