//! Arithmetic in the finite field of q elements, q a prime power.
//!
//! An element is a polynomial over the integers modulo p of degree below n, q = p^n; its number is its value at p with
//! coefficients 0 … p - 1. Products are taken modulo the first irreducible polynomial found. Tables hold all sums and
//! products, of size q².

/// The largest supported field.
pub(crate) const MOST_ELEMENTS: u32 = 1024;

/// A finite field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    q: u32,
    sums: Vec<u16>,
    products: Vec<u16>,
    negatives: Vec<u16>,
    /// Inverse of each element; 0 for 0.
    inverses: Vec<u16>,
    /// Powers ξ^0 … ξ^(q-2) of a generator of the nonzero elements.
    powers: Vec<u32>,
}

/// The prime p and the exponent n of q = p^n.
pub(crate) fn prime_power(q: u32) -> Option<(u32, u32)> {
    let p = (2..=q).find(|&p| q.is_multiple_of(p))?;
    let (mut rest, mut n) = (q, 0);
    while rest.is_multiple_of(p) {
        rest /= p;
        n += 1;
    }
    (rest == 1).then_some((p, n))
}

impl Field {
    /// The field of `q` elements, if `q` is a prime power and at most 1,024.
    pub(crate) fn new(q: u32) -> Option<Self> {
        if q > MOST_ELEMENTS {
            return None;
        }
        let (p, n) = prime_power(q)?;
        let digits = |mut element: u32| -> Vec<u32> {
            let digit = |_| {
                let digit = element % p;
                element /= p;
                digit
            };
            (0..n).map(digit).collect()
        };
        let number = |digits: &[u32]| digits.iter().rev().fold(0, |sum, &digit| sum * p + digit);
        let polynomials: Vec<Vec<u32>> = (0..q).map(digits).collect();
        let add = |a: u32, b: u32| {
            let terms = polynomials[a as usize].iter().zip(&polynomials[b as usize]);
            number(&terms.map(|(x, y)| (x + y) % p).collect::<Vec<_>>())
        };
        let sums: Vec<u16> = (0..q * q).map(|pair| add(pair / q, pair % q) as u16).collect();
        let sum = |a: u32, b: u32| u32::from(sums[(a * q + b) as usize]);
        let scaled = |a: u32, factor: u32| {
            let terms = polynomials[a as usize].iter().map(|x| x * factor % p);
            number(&terms.collect::<Vec<_>>())
        };
        // Tries x^n = tail until all products of nonzero elements are nonzero.
        (0..q).find_map(|tail| {
            let times_x = |a: u32| {
                let top = a / p.pow(n - 1);
                let shifted = a % p.pow(n - 1) * p;
                sum(shifted, scaled(tail, top))
            };
            let product = |a: u32, b: u32| {
                let mut power = a;
                let mut result = 0;
                for &digit in &polynomials[b as usize] {
                    result = sum(result, scaled(power, digit));
                    power = times_x(power);
                }
                result
            };
            // With n = 1, "x" is the number `tail` itself and only the lowest digit counts: any tail works.
            let products: Vec<u16> = (0..q * q).map(|pair| product(pair / q, pair % q) as u16).collect();
            let times = |a: u32, b: u32| u32::from(products[(a * q + b) as usize]);
            let powers_of = |a: u32| -> Vec<u32> {
                let mut powers = vec![1];
                let mut power = a;
                while power > 1 && powers.len() < q as usize {
                    powers.push(power);
                    power = times(power, a);
                }
                powers
            };
            // The nonzero elements are the powers of one element if and only if this is a field.
            let powers = (1..q).map(powers_of).find(|powers| {
                let mut sorted = powers.clone();
                sorted.sort_unstable();
                sorted.into_iter().eq(1..q)
            })?;
            let search = |wanted: u32, operation: &dyn Fn(u32, u32) -> u32, a: u32| {
                (0..q).find(|&b| operation(a, b) == wanted).unwrap_or(0) as u16
            };
            let negatives = (0..q).map(|a| search(0, &sum, a)).collect();
            let inverses = (0..q).map(|a| search(1, &times, a)).collect();
            Some(Field {
                q,
                sums: sums.clone(),
                negatives,
                inverses,
                powers,
                products,
            })
        })
    }

    #[inline]
    pub(crate) fn sum(&self, a: u32, b: u32) -> u32 {
        u32::from(self.sums[(a * self.q + b) as usize])
    }

    #[inline]
    pub(crate) fn difference(&self, a: u32, b: u32) -> u32 {
        self.sum(a, u32::from(self.negatives[b as usize]))
    }

    #[inline]
    pub(crate) fn product(&self, a: u32, b: u32) -> u32 {
        u32::from(self.products[(a * self.q + b) as usize])
    }

    /// `a / b`; 0 if `b` is 0.
    #[inline]
    pub(crate) fn quotient(&self, a: u32, b: u32) -> u32 {
        self.product(a, u32::from(self.inverses[b as usize]))
    }

    /// ξ^`exponent`.
    pub(crate) fn power(&self, exponent: u32) -> u32 {
        self.powers[exponent as usize % self.powers.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prime_powers_are_known() {
        let known: Vec<u32> = (0..50).filter(|&q| prime_power(q).is_some()).collect();
        assert_eq!(
            known,
            [
                2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49
            ]
        );
        assert!(Field::new(6).is_none() && Field::new(1).is_none() && Field::new(1031).is_none());
    }

    #[test]
    fn the_laws_of_a_field_hold() {
        for q in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27] {
            let f = Field::new(q).unwrap();
            for a in 0..q {
                assert_eq!((f.sum(a, 0), f.product(a, 1), f.product(a, 0)), (a, a, 0));
                assert_eq!(f.difference(a, a), 0);
                for b in 0..q {
                    assert_eq!((f.sum(a, b), f.product(a, b)), (f.sum(b, a), f.product(b, a)));
                    assert_eq!(f.sum(f.difference(a, b), b), a);
                    if b > 0 {
                        assert_eq!(f.product(f.quotient(a, b), b), a);
                    }
                    for c in 0..q {
                        assert_eq!(f.product(f.product(a, b), c), f.product(a, f.product(b, c)));
                        let distributed = f.sum(f.product(a, c), f.product(b, c));
                        assert_eq!(f.product(f.sum(a, b), c), distributed);
                    }
                }
            }
            let mut powers: Vec<u32> = (0..q - 1).map(|exponent| f.power(exponent)).collect();
            powers.sort_unstable();
            assert!(powers.into_iter().eq(1..q));
        }
    }
}
